# The only commands to remember. Each sets up its own .venv when needed and is quick the second time.
PYTHON ?= python3
# For test-oldest; TensorFlow 2.18 has wheels for Python 3.9 to 3.12.
PYTHON_OLDEST ?= python3.10
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
JAX := .venv-jax
TORCH := .venv-torch
# Where pip's index has builds for GPUs alone: make test-torch TORCH_PACKAGE="--index-url <one with CPU builds> torch"
TORCH_PACKAGE ?= torch==2.13.0
MAKEFLAGS += --jobs=2
export TF_CPP_MIN_LOG_LEVEL ?= 3
# Every process would compile TensorFlow's 3,000 modules again.
unexport PYTHONDONTWRITEBYTECODE

# What `make test` runs: everything about the package. `make test-all` adds studies, pages, notebook, wheels, examples.
PACKAGE := tests/package tests/datasets tests/project/test_docs.py
PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: demo quick test unit test-all test-plain test-slow test-oldest test-jax test-torch test-jax-core \
	test-jax-slow test-torch-core lint bench studies docs clean
.DELETE_ON_ERROR:

# uv installs in seconds what pip installs in a minute; where it cannot, pip does. (Python compiles what it imports.)
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python --editable ".[$(EXTRAS)]" 2> $(VENV)/uv.log \
	|| { echo "uv could not install (see $(VENV)/uv.log); pip does, which takes a minute longer." \
	&& $(BIN)/python -m pip install --quiet --upgrade pip \
	&& $(BIN)/python -m pip install --quiet --no-compile --editable ".[$(EXTRAS)]"; }

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv 2> $(VENV)/uv.log || true

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
		--extra tensorflow \
		--no-annotate --output-file $(OLDEST)/lowest.txt pyproject.toml
	$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --constraint $(OLDEST)/lowest.txt \
		--editable ".[dev]"
	touch $@

demo: $(VENV)/.demo  ## train, compare, plot, export
	$(BIN)/python examples/demo.py

quick: $(VENV)/.dev  ## ruff and the core of the tests, in about a minute
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest $(PARALLEL) -m "quick and not slow" tests/package

test: lint unit  ## linters and the tests of the package, at the same time

unit: $(VENV)/.dev
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow and not pages and not processes" $(PACKAGE)

test-all: lint test-jax-core test-torch-core  ## everything: also studies, pages, notebook, wheels, examples, backends
	$(BIN)/python -m pytest $(PARALLEL) --cov --cov-report=term

test-plain: $(VENV)/.dev  ## the core of the tests with TensorFlow as it is: tests/thrift.py speeds up all others
	KERAS_SOFTSETS_THRIFT=0 $(BIN)/python -m pytest $(PARALLEL) -m "quick and not slow" tests/package

test-slow: $(VENV)/.dev  ## what takes minutes: four and eight devices, more of half precision, large data sets
	$(BIN)/python -m pytest -n 2 -m slow

test-oldest: $(OLDEST)/.dev  ## the whole test suite with the oldest supported versions
	cat $(OLDEST)/lowest.txt
	$(OLDEST)/bin/python -m pytest $(PARALLEL)

# The tests that concern no backend in particular, where TensorFlow is not installed.
BACKEND_TOOLS := pytest pytest-xdist scikit-learn matplotlib
# uv does not read where pip finds wheels; where it cannot install, pip does.
LINKS = $$($(BIN)/python -m pip config get global.find-links 2> /dev/null || echo $$PIP_FIND_LINKS)
INTO = install_into() { links=$(LINKS); $(BIN)/uv pip install --quiet --python $$1/bin/python \
	$${links:+--find-links "$$links"} "$${@:2}" 2> $$1/uv.log || $$1/bin/python -m pip install --quiet "$${@:2}"; }
$(JAX)/.dev $(TORCH)/.dev test-jax-slow: SHELL := bash

$(JAX)/.dev: pyproject.toml | $(BIN)/python
	$(PYTHON) -m venv $(JAX)
	$(INTO); install_into $(JAX) jax==0.10.2 $(BACKEND_TOOLS) --editable .
	touch $@

$(TORCH)/.dev: pyproject.toml | $(BIN)/python
	$(PYTHON) -m venv $(TORCH)
	$(INTO); install_into $(TORCH) $(TORCH_PACKAGE) && install_into $(TORCH) $(BACKEND_TOOLS) --editable .
	touch $@

ON_JAX = KERAS_BACKEND=jax JAX_PLATFORMS=cpu JAX_DISABLE_MOST_OPTIMIZATIONS=true JAX_COMPILATION_CACHE_DIR=$(abspath $(JAX))/compiled \
	JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=-1 \
	$(JAX)/bin/python -m pytest
ON_TORCH = KERAS_BACKEND=torch $(TORCH)/bin/python -m pytest
# Two at a time, in a process each: `make` runs both.
BACKEND_CORE := -m "quick and not slow" tests/package/test_backends.py

test-jax: $(JAX)/.dev  ## the tests that concern no backend in particular, with Keras on JAX
	$(ON_JAX) $(PARALLEL) tests/package

# With libtpu, JAX compiles for TPUs without one.
test-jax-slow: $(JAX)/.dev  ## several devices with every kind of loss, and what the compiler for TPUs makes of losses
	$(JAX)/bin/python -c "import libtpu" 2> /dev/null || { $(INTO); install_into $(JAX) libtpu; }
	$(ON_JAX) -m slow tests/package/test_backends.py

test-torch: $(TORCH)/.dev  ## the same with Keras on PyTorch
	$(ON_TORCH) $(PARALLEL) tests/package

test-jax-core: $(JAX)/.dev  ## the core of them, in about a minute
	$(ON_JAX) $(BACKEND_CORE)

test-torch-core: $(TORCH)/.dev
	$(ON_TORCH) $(BACKEND_CORE)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

studies: $(VENV)/.dev  ## what has been measured, and what is missing; see studies/README.md
	$(BIN)/python -m studies list

bench: $(VENV)/.dev  ## ratios to Keras's own losses, and to peers where they are installed
	$(BIN)/python -m benchmarks.speed

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(OLDEST) $(JAX) $(TORCH) build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .coverage
