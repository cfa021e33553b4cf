# Every target sets up what it needs: a virtual environment in .venv, made with nothing but
# Python >= 3.11 and pip. Nothing outside this directory is changed.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
TREE := .venv/.tree

.PHONY: help demo test check bench picture clean FORCE
.DEFAULT_GOAL := help

help:
	@echo 'make demo    one whole compaction cycle in a throw-away project'
	@echo 'make test    all tests'
	@echo 'make check   lint, types, import contract'
	@echo 'make bench   how fast every hook and the MCP server are, and what has changed since the last time'
	@echo 'make picture the picture in the README, from a real run'
	@echo 'make clean   remove everything that make made'

demo: .venv/.ready
	@$(BIN)/holdfast demo

test: .venv/.ready
	$(BIN)/pytest -n auto $(ARGS)

check: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.ready
	@BENCH_PIP_PYTHON=$(PYTHON) $(BIN)/python -m bench

picture: .venv/.ready
	$(BIN)/python docs/picture.py

clean:
	rm -rf .venv .cache build dist *.egg-info .mypy_cache .ruff_cache .import_linter_cache \
		.pytest_cache .hypothesis

# The install links file by file (editable_mode=strict), so that mypy and the import contract see
# one real package. It is made again when a source file appears or goes, not when one is edited.
.venv/.ready: pyproject.toml setup.py src/scripts/holdfast constraints.txt $(TREE)
	@$(BIN)/python -c '' 2>/dev/null || $(PYTHON) -m venv --without-pip --clear .venv
	@$(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check \
		--constraint constraints.txt --config-settings editable_mode=strict --editable '.[dev]'
	@find hooks handlers src -name '*.py' -o -path '*payloads*.json' -o -path '*builtin*.toml' | sort > $(TREE)
	@touch $@

$(TREE): FORCE
	@test -n "$(PYTHON)" || { echo 'Holdfast needs Python 3.11 or newer: make PYTHON=/path/to/python3.x' >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv --without-pip .venv
	@find hooks handlers src -name '*.py' -o -path '*payloads*.json' -o -path '*builtin*.toml' | sort | cmp -s - $@ || find hooks handlers src -name '*.py' -o -path '*payloads*.json' -o -path '*builtin*.toml' | sort > $@
