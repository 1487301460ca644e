# The only commands to remember. Each sets up its own .venv when needed and is quick the second time.
PYTHON ?= python3
# For test-oldest; TensorFlow 2.18 has wheels for Python 3.9 to 3.12.
PYTHON_OLDEST ?= python3.10
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
MAKEFLAGS += --jobs=2
export TF_CPP_MIN_LOG_LEVEL ?= 3
# Every process would compile TensorFlow's 3,000 modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test unit test-slow test-oldest lint bench docs clean
.DELETE_ON_ERROR:

# uv installs in seconds what pip installs in a minute; where it cannot, pip does. (Python compiles what it imports.)
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python --editable ".[$(EXTRAS)]" \
	|| { $(BIN)/python -m pip install --quiet --upgrade pip \
	&& $(BIN)/python -m pip install --quiet --no-compile --editable ".[$(EXTRAS)]"; }

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	-$(BIN)/python -m pip install --quiet uv

$(VENV)/.demo: EXTRAS := datasets,plots
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(INSTALL)
	touch $@

$(VENV)/.dev: EXTRAS := dev
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(INSTALL)
	touch $@ $(VENV)/.demo

$(VENV)/.docs: EXTRAS := docs
$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(INSTALL)
	touch $@

# The lowest versions that pyproject.toml allows of `dependencies`, and the newest of everything else that go with them.
# By uv, because pip takes minutes to find these.
$(OLDEST)/.dev: pyproject.toml
	$(PYTHON_OLDEST) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet uv
	$(OLDEST)/bin/uv pip compile --quiet --python $(OLDEST)/bin/python --resolution lowest-direct --no-deps --no-header \
		--no-annotate --output-file $(OLDEST)/lowest.txt pyproject.toml
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --constraint $(OLDEST)/lowest.txt \
		--editable ".[dev]"
	touch $@

demo: $(VENV)/.demo  ## train, compare, plot, export
	$(BIN)/python examples/demo.py

test: lint unit  ## linters and the whole test suite, at the same time

unit: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-slow: $(VENV)/.dev  ## what takes minutes: four and eight devices, more of half precision, large data sets
	$(BIN)/python -m pytest -n 2 -m slow

test-oldest: $(OLDEST)/.dev  ## the whole test suite with the oldest supported versions
	cat $(OLDEST)/lowest.txt
	$(OLDEST)/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev  ## ratios to Keras's own losses, and to peers where they are installed
	$(BIN)/python -m benchmarks.speed

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(OLDEST) build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache
