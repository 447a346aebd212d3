# make demo: set up and show what Sunrise does.   make test: everything CI runs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name 'Cargo.toml')
SHOW := $(BIN)/python -m

.PHONY: demo test bench format clean

demo: $(VENV)/.built
	@$(SHOW) sunrise.demo

test: $(VENV)/.test
	cargo fmt --check
	cargo clippy --all-targets --locked -- -D warnings
	cargo test --locked
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto

bench: $(VENV)/.test
	$(SHOW) benchmarks

format: $(VENV)/.test
	cargo fmt
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The package is installed in place: only a change of the Rust sources or of the settings builds it anew.
$(VENV)/.built: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.test: $(VENV)/.built
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

clean:
	rm -rf $(VENV) target
