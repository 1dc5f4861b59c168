# make run    sets up what it needs and opens the dashboard on localhost
# make serve  the server for a team: make serve HOST=0.0.0.0 PORT=8501, with the settings of docs/SERVER.md
# make dev    as make run, for developers: a page reruns when its code is saved
# make test   sets up what it needs, runs lint, types and all tests
# make check  the part to run while working: lint, types and the quick tests
# make docs   builds the documentation as a site, into out/docs
# make install only sets up

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# As many processes as there are cores, at most four, each on one thread: more would wait for each other. Each takes a run of
# neighbours, so that a module's fixtures are made once, and who is done takes from the others
TESTS := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n logical --maxprocesses 4 --dist worksteal

HOST ?= localhost
PORT ?= 8501

.PHONY: run serve dev test check quick lint audit docs install services

run: $(VENV)/.run
	$(BIN)/python -m streamlit run app.py

serve: $(VENV)/.run
	$(BIN)/python -m cfad_core serve --host $(HOST) --port $(PORT)

# Polling looks at the modules in use alone; events watch all of .venv, whatever is blacklisted, and take half a core
dev: $(VENV)/.run
	$(BIN)/python -m streamlit run app.py --server.fileWatcherType poll --server.runOnSave true

test: lint audit services
	$(TESTS)

check: $(VENV)/.dev
	@$(MAKE) --no-print-directory -j2 -O lint quick

quick: $(VENV)/.dev
	$(TESTS) -m "not slow"

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Known vulnerabilities of what is installed, where the package index knows them
audit: $(VENV)/.dev
	@$(BIN)/python -m tests.vulnerabilities

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	@echo "Open out/docs/index.html"

install: $(VENV)/.run

# The store is tested on a PostgreSQL server too, where one is installed or can be; pages are tested in Debian's chromium, PDFs by
# poppler-utils
services:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || $(call debian,postgresql) \
	  || echo "PostgreSQL is not installed: the store will be tested on SQLite alone."
	@command -v chromium >/dev/null || $(call debian,chromium) \
	  || { echo "The pages are tested in chromium. Install it (Debian: apt-get install chromium), then: make test"; exit 1; }
	@{ command -v pdftotext && command -v pdfdetach; } >/dev/null || $(call debian,poppler-utils) \
	  || { echo "PDFs are tested by poppler-utils. Install it (Debian: apt-get install poppler-utils), then: make test"; exit 1; }

debian = { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq \
  && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(1) >/dev/null; }

$(VENV)/.venv:
	$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info[:2] <= (3, 13) else "Python 3.11, 3.12 or 3.13 is needed; this is " + sys.version.split()[0] + ". Name another with: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.run: requirements.txt $(VENV)/.venv
	$(PIP) install -r requirements.txt
	@$(BIN)/python -c 'import weasyprint' >/dev/null 2>&1 || $(call debian,libpango-1.0-0 libpangoft2-1.0-0 fonts-dejavu-core) \
	  || echo "Reports as PDF need Pango, which is not installed; everything else works. (Debian: apt-get install libpango-1.0-0 libpangoft2-1.0-0)"
	touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.run
	$(PIP) install -r requirements-dev.txt
	touch $@

$(VENV)/.docs: requirements-docs.txt $(VENV)/.run
	$(PIP) install -r requirements-docs.txt
	touch $@
