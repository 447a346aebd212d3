# make demo: set up and show what Sunrise does.   make test: the checks of every change.   make help: all targets.
PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PYTEST := $(BIN)/pytest -n auto --dist loadgroup
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
SOURCES := pyproject.toml Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name 'Cargo.toml')
NEED_RUST = $(if $(shell command -v cargo),,$(error Rust is not installed: get it from https://rustup.rs and run make again))

.PHONY: help demo test lint test-slow test-long test-oldest docs site coverage wheel bench format clean

help:  # list the targets
	@grep -E '^[a-z-]+:.*  # ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*  # /\1\t/' | expand -t 14

demo: $(VENV)/.built  # fit, evaluate and explain a model of a real data set
	@echo "Fitting and cross-validating a model of 303 patients ..."
	@$(BIN)/python -m sunrise.demo

test: lint  # formatters, linters, types and all tests but the slow ones
	cargo test --locked
	$(PYTEST) -m "not slow and not long"

lint: $(VENV)/.test  # formatters, linters and types
	@: $(NEED_RUST)
	cargo fmt --check
	cargo clippy --all-targets --locked -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test-slow: $(VENV)/.test  # complete grids, large data sets, wheels; and 1 % of the long tests
	SUNRISE_LONG=0.01 $(PYTEST) -m "slow or long"

test-long: $(VENV)/.test  # tests that take hours: very many random cases
	SUNRISE_LONG=1 $(PYTEST) -m long

docs: $(VENV)/.test  # the code, the numbers and the links of README and docs
	$(PYTEST) tests/test_docs.py tests/test_examples.py tests/test_site.py

site: $(VENV)/.test  # the documentation as a web site with search, in site/
	$(BIN)/python -m sphinx -W -E --keep-going -q -d site/.doctrees docs site
	@echo "Open site/index.html"

OLDEST := .venv-oldest
OLDEST_PYTHON := $(subst $(VENV),$(OLDEST),$(BIN))/python
test-oldest:  # the tests with the oldest dependencies that pyproject.toml allows
	@: $(NEED_RUST)
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST_PYTHON) tests/oldest.py > $(OLDEST)/oldest.txt
	$(OLDEST_PYTHON) -m pip --quiet --disable-pip-version-check install --requirement $(OLDEST)/oldest.txt
	$(OLDEST_PYTHON) -m pip --quiet --disable-pip-version-check install --no-deps --editable .
	$(OLDEST_PYTHON) -m pytest -n auto -m "not slow and not long and not newest"

coverage: $(VENV)/.test  # lines that the tests reach, in Python and in Rust
	@: $(NEED_RUST)
	$(PYTEST) -m "not slow and not long" --cov=sunrise --cov-report=term:skip-covered
	@command -v cargo-tarpaulin > /dev/null || { echo "Rust coverage needs tarpaulin: cargo install cargo-tarpaulin --no-default-features" >&2; exit 1; }
	cargo tarpaulin --packages sunrise-core --locked --engine llvm --exclude-files 'crates/sunrise-py/*' --skip-clean --target-dir target/tarpaulin --out stdout

# On Linux, zig links against an old glibc, so that the wheel runs on every usual distribution.
ifeq ($(shell uname -s),Linux)
PORTABLE := --zig --compatibility manylinux_2_17
endif
DIST := dist
wheel: $(VENV)/.wheel  # a wheel for this platform and a source distribution, in dist/
	@: $(NEED_RUST)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m maturin build --release --locked $(PORTABLE) --out $(DIST)
	$(BIN)/python -m maturin sdist --out $(DIST)

bench: $(VENV)/.test  # ratios against scikit-learn; fails where a claim is not reached
	$(BIN)/python -m benchmarks

format: $(VENV)/.test  # let the formatters have their way
	cargo fmt
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The package is installed in place: only a change of the Rust sources or of the settings builds it anew.
$(VENV)/.built: $(SOURCES)
	@: $(NEED_RUST)
	@test -x $(BIN)/python || { echo "Creating a Python environment in $(VENV) ..." && $(PYTHON) -m venv $(VENV); }
	@echo "Installing the dependencies and compiling the Rust code; the first time takes a few minutes ..."
	$(BIN)/python -m pip --disable-pip-version-check install --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.built
	$(PIP) install --editable '.[test]'
	@touch $@

$(VENV)/.wheel: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install 'maturin>=1.9,<2' ziglang
	@touch $@

clean:  # remove everything that was built
	rm -rf $(VENV) $(OLDEST) $(DIST) target site
