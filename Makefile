# The only commands to remember. Each sets up its own .venv when needed and is quick the second time.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export TF_CPP_MIN_LOG_LEVEL ?= 3

.PHONY: demo test test-slow lint bench docs clean
.DELETE_ON_ERROR:

# uv installs in seconds what pip installs in a minute; where it cannot, pip does. (Python compiles what it imports.)
install = $(BIN)/uv pip install --quiet --python $(BIN)/python --editable $(1) \
	|| $(BIN)/python -m pip install --quiet --no-compile --editable $(1)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	-$(BIN)/python -m pip install --quiet uv

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(call install,".[datasets,plots]")
	touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(call install,".[dev]")
	touch $@ $(VENV)/.demo

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(call install,".[docs]")
	touch $@

demo: $(VENV)/.demo  ## train, compare, plot, export
	$(BIN)/python examples/demo.py

test: lint  ## linters and the whole test suite
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-slow: $(VENV)/.dev  ## what takes minutes: four and eight devices, more of half precision, large data sets
	$(BIN)/python -m pytest -n 2 -m slow

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.dev  ## ratios to Keras's own losses, and to peers where they are installed
	$(BIN)/python -m benchmarks.speed

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache
