# Every target sets up .venv first; the machine needs only Python 3.11+ and git.
# PYTHON=/path/to/python3.12 replaces the first suitable Python on the PATH.

VENV := .venv
BIN := $(VENV)/bin
CANDIDATES := python3.13 python3.12 python3.11 python3 python
# A name on the PATH may be a stub that only lists the installed versions, so each candidate is run.
PYTHON ?= $(firstword $(foreach name,$(CANDIDATES),$(shell \
	$(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $(name))))
PACKAGES := cli ingest opensearch search_api shared
LOCKS := deploy/locks
SOURCES = $(shell find $(PACKAGES) -type f -not -path '*/__pycache__/*') pyproject.toml

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The suite starts our commands more than a thousand times; without compiled modules each start takes a quarter longer.
unexport PYTHONDONTWRITEBYTECODE

# Every package is installed in its locked version; pip refuses a file with another hash. The locked setuptools builds
# the code itself: an isolated build would download setuptools without a hash.
INSTALL := $(BIN)/python -m pip install -qq --require-hashes --only-binary :all: --no-deps -r
INSTALL_CODE := $(BIN)/python -m pip install -qq --no-deps --no-build-isolation -e .

# One process more than there are processors, because tests also wait, up to four: more would only wait for the one
# OpenSearch node. The tests of a module share its fixtures, so they run in one process. The longest tests start first
# (tests/conftest.py).
PROCESSES = $(shell $(BIN)/python -c 'import os; print(min(4, 1 + (os.cpu_count() or 1)))')
IN_PARALLEL = --numprocesses $(PROCESSES) --dist loadscope --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help venv demo test lint bench model lock audit sbom clean

help: ## List the targets.
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-6s %s\n", $$1, $$2}'

venv: $(VENV)/.installed ## Install the `codequarry` command into .venv.
	@echo "$(BIN)/codequarry is ready"

demo: $(VENV)/.installed ## Index two real repositories and search them (about two minutes; data in ./.demo).
	@$(BIN)/python bench/demo.py

test: $(VENV)/.test ## Run the whole test suite, with a real OpenSearch node (downloaded once).
	@$(BIN)/python -m compileall -q $(PACKAGES)
	$(BIN)/python -m pytest $(IN_PARALLEL)

lint: $(VENV)/.test build/typed/.built ## Check style, types and the direction of imports.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPYPATH=build/typed $(BIN)/mypy $(PACKAGES:%=-p codequarry.%)
	PYTHONPATH=build/typed $(BIN)/lint-imports

bench: $(VENV)/.test ## Measure speed on this machine (takes minutes); docs/measurements.md has results and more benchmarks.
	$(BIN)/python bench/demo.py --libraries-only
	$(BIN)/python -m bench.acceptance.speed --repo .demo/libraries/.git
	$(BIN)/python bench/embedded_store.py
	$(BIN)/python bench/embedding_speed.py

model: $(VENV)/.test ## Train the code-embedding model from scratch (also needs npm, cargo, go and apt-get; see training/README.md).
	$(BIN)/python -m training.make --work .model $(MODEL_OPTIONS)

lock: $(VENV)/.test ## Lock the requirements of pyproject.toml again; LOCK_OPTIONS=--upgrade takes the newest versions.
	@PYTHON=$(BIN)/python .ci/lock $(LOCK_OPTIONS)

audit: $(VENV)/.test ## Check all locked packages for known vulnerabilities; fails if api.osv.dev cannot be reached.
	@PYTHON=$(BIN)/python .ci/audit $(AUDIT_OPTIONS)

sbom: $(VENV)/.test ## Write the image's bill of materials (CycloneDX) to dist/codequarry.cdx.json.
	@mkdir -p dist
	$(BIN)/cyclonedx-py requirements $(LOCKS)/service.txt --pyproject pyproject.toml --mc-type application \
		--output-reproducible --of JSON -o dist/codequarry.cdx.json

clean: ## Remove everything that the targets created: .venv, .demo, .model, build and caches.
	rm -rf $(VENV) .demo .model build dist codequarry.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 or newer found (tried $(CANDIDATES)); install one or run make PYTHON=/path/to/python" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $(PYTHON) is older than Python 3.11" >&2; exit 1; }
	@echo "creating $(VENV) with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); echo "error: cannot create a virtual environment; on Debian: apt install python3-venv" >&2; exit 1; }

$(VENV)/.installed: pyproject.toml $(LOCKS)/service.txt | $(BIN)/python
	@echo "installing codequarry"
	@$(INSTALL) $(LOCKS)/service.txt
	@$(INSTALL_CODE)
	@touch $@

$(VENV)/.test: pyproject.toml $(LOCKS)/development.txt | $(BIN)/python
	@echo "installing codequarry with the packages for tests, linters and training"
	@$(INSTALL) $(LOCKS)/development.txt
	@$(INSTALL_CODE)
	@touch $(VENV)/.installed $@

# mypy and import-linter cannot follow an editable install, so they read the wheel that users install.
build/typed/.built: $(SOURCES) $(VENV)/.test
	@rm -rf build/typed build/wheel build/lib build/bdist.*
	@$(BIN)/python -m build --quiet --no-isolation --wheel --outdir build/wheel . 2>&1 | grep -v -e UserWarning -e '^  *warnings.warn' || true
	@$(BIN)/python -m pip install -qq --no-deps --target build/typed build/wheel/*.whl
	@touch $@
