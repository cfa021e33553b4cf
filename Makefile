# Every target sets up what it needs: a virtual environment in .venv, made with nothing but
# Python >= 3.11 and pip. .venv is a link into the user's cache: a client that installs this directory as a
# plugin copies all of it, but does not follow a link out of it. Nothing else outside is changed.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
TREE := .venv/.tree
CACHE := $(or $(XDG_CACHE_HOME),$(if $(HOME),$(HOME)/.cache))
ENVIRONMENT := $(if $(CACHE),$(CACHE)/holdfast/environment-$(shell printf %s '$(CURDIR)' | cksum | cut -d' ' -f1))
# What the editable install links, file by file.
LINKED = find hooks handlers skills src -name '*.py' -o -path '*payloads*.json' -o -path '*builtin*.toml' -o -path '*bridges*.js' -o -path '*templates*.md' -o -name SKILL.md | sort

.PHONY: help demo test test-clients torture check fuzz audit bench picture clean FORCE
.DEFAULT_GOAL := help

help:
	@echo 'make demo    one whole compaction cycle in a throw-away project'
	@echo 'make test    all tests that need no other program, in minutes'
	@echo 'make test-clients  the tests that drive Claude Code and other agents from npm, against stand-ins'
	@echo 'make torture kills, faults and load, for hours; its figures at the end'
	@echo 'make check   lint, types, import contract'
	@echo 'make fuzz    hostile input, guided by coverage, for 10 s a target: make fuzz SECONDS=60 ARGS="--target plan"'
	@echo 'make audit   known vulnerabilities in the pinned dependencies; needs a network'
	@echo 'make bench   how fast every hook and the MCP server are, and what has changed since the last time'
	@echo 'make picture the picture in the README, from a real run'
	@echo 'make clean   remove everything that make made'

demo: .venv/.ready
	@$(BIN)/holdfast demo

test: .venv/.ready
	$(BIN)/pytest -n auto -m 'not client and not long' $(ARGS)

test-clients: .venv/.ready
	$(BIN)/pytest -n auto -m client $(ARGS)

# How much of each is for the caller to say: make torture KILLS=100 FAULTS=500 SECONDS=60
KILLS := 1000
FAULTS := 5000
SESSIONS := 64
SEED := $(shell od -An -N3 -tu4 /dev/urandom | tr -d ' ')
torture: SECONDS := 600
torture: .venv/.ready
	TORTURE_KILLS=$(KILLS) TORTURE_FAULTS=$(FAULTS) TORTURE_SESSIONS=$(SESSIONS) TORTURE_SECONDS=$(SECONDS) \
		TORTURE_PATIENCE=1 TORTURE_SEED=$(SEED) $(BIN)/pytest -n $(or $(JOBS),auto) -m long $(ARGS)

check: .venv/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# atheris has no wheel for every Python. Without it the run goes on, and says what it lacks.
fuzz: SECONDS := 10
fuzz: .venv/.ready
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(PYTHON) -m pip --python $(BIN)/python install \
		--quiet --disable-pip-version-check --only-binary atheris --constraint constraints.txt atheris || true
	PYTHONPATH=tests/support $(BIN)/python -m fuzzing.run --seconds $(SECONDS) $(ARGS)

audit:
	PYTHON=$(PYTHON) .ci/audit

bench: .venv/.ready
	@BENCH_PIP_PYTHON=$(PYTHON) $(BIN)/python -m bench

picture: .venv/.ready
	$(BIN)/python docs/picture.py

clean:
	rm -rf $(if $(ENVIRONMENT),'$(ENVIRONMENT)') .venv .cache build dist *.egg-info .mypy_cache .ruff_cache .import_linter_cache \
		.pytest_cache .hypothesis

# The install links file by file (editable_mode=strict), so that mypy and the import contract see
# one real package. It is made again when a source file appears or goes, not when one is edited; build/ goes
# first, since it keeps links to files that are gone.
.venv/.ready: pyproject.toml setup.py src/scripts/holdfast constraints.txt $(TREE)
	@echo 'Setting up .venv; this takes a minute.' >&2
	@rm -rf build
	@$(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check \
		--constraint constraints.txt --config-settings editable_mode=strict --editable '.[dev]'
	@$(LINKED) > $(TREE)
	@touch $@

$(TREE): FORCE
	@test -n "$(PYTHON)" || { echo 'Holdfast needs Python 3.11 or newer: make PYTHON=/path/to/python3.x' >&2; exit 1; }
	@# A link that leads elsewhere came with a copy of the directory. Without a cache, .venv is a plain directory.
	@if [ -n '$(ENVIRONMENT)' ] && [ "$$(readlink .venv)" != '$(ENVIRONMENT)' ] && mkdir -p '$(ENVIRONMENT)' 2>/dev/null; then \
		rm -rf .venv && ln -s '$(ENVIRONMENT)' .venv; fi
	@version='import sys; print(sys.version)'; \
		[ "$$($(BIN)/python -c "$$version" 2>/dev/null)" = "$$($(PYTHON) -c "$$version")" ] || \
		$(PYTHON) -m venv --without-pip --clear "$$(readlink .venv || echo .venv)"
	@$(LINKED) | cmp -s - $@ || $(LINKED) > $@
