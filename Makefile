# Every target does its own set-up in .venv; the machine needs Python 3.11+ and git, no more.
# PYTHON=/path/to/python3.12 chooses another Python than the first one that fits.

VENV := .venv
BIN := $(VENV)/bin
CANDIDATES := python3.13 python3.12 python3.11 python3 python
# A name on the PATH may be a stub that only says which versions there are, so each one is run.
PYTHON ?= $(firstword $(foreach name,$(CANDIDATES),$(shell \
	$(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $(name))))
PACKAGES := cli ingest opensearch search_api shared
LOCKS := deploy/locks
SOURCES = $(shell find $(PACKAGES) -type f -not -path '*/__pycache__/*') pyproject.toml

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Every package comes in the version that a lock names and is refused if its hash is another one. The code itself is
# built by the setuptools of the lock: an isolated build would download one without a hash.
INSTALL := $(BIN)/python -m pip install -qq --require-hashes --only-binary :all: -r
INSTALL_CODE := $(BIN)/python -m pip install -qq --no-deps --no-build-isolation -e .

# A process for each processor, up to four: beyond that the one OpenSearch node is what they wait for. The tests of a
# module share what it sets up, so they stay together, and the longest are begun first (tests/conftest.py).
IN_PARALLEL := --numprocesses logical --maxprocesses 4 --dist loadscope --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help venv demo test lint bench model lock audit sbom clean

help: ## Say what there is.
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-6s %s\n", $$1, $$2}'

venv: $(VENV)/.installed ## Install the `codequarry` command into .venv.
	@echo "$(BIN)/codequarry is ready"

demo: $(VENV)/.installed ## Index two real repositories and search them (about two minutes; data in ./.demo).
	@$(BIN)/python bench/demo.py

test: $(VENV)/.test ## Run the whole test suite, with a real OpenSearch that comes by pip.
	$(BIN)/python -m pytest $(IN_PARALLEL)

lint: $(VENV)/.test build/typed/.built ## Check style, types and the direction of imports.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPYPATH=build/typed $(BIN)/mypy $(PACKAGES:%=-p codequarry.%)
	PYTHONPATH=build/typed $(BIN)/lint-imports

bench: $(VENV)/.test ## Measure speed on this machine (minutes); docs/measurements.md has more and its results.
	$(BIN)/python bench/demo.py --libraries-only
	$(BIN)/python -m bench.acceptance.speed --repo .demo/libraries/.git
	$(BIN)/python bench/embedded_store.py
	$(BIN)/python bench/embedding_speed.py

model: $(VENV)/.test ## Train the code-embedding model from scratch (needs npm, cargo, go and apt-get too; training/README.md).
	$(BIN)/python -m training.make --work .model $(MODEL_OPTIONS)

lock: $(VENV)/.test ## Lock what pyproject.toml asks for anew; with LOCK_OPTIONS=--upgrade in the newest versions.
	@PYTHON=$(BIN)/python .ci/lock $(LOCK_OPTIONS)

audit: $(VENV)/.test ## Look for known vulnerabilities of everything locked; fails if it can't ask (api.osv.dev).
	@PYTHON=$(BIN)/python .ci/audit $(AUDIT_OPTIONS)

sbom: $(VENV)/.test ## Write the bill of materials of what the image installs to dist/codequarry.cdx.json (CycloneDX).
	@mkdir -p dist
	$(BIN)/cyclonedx-py requirements $(LOCKS)/service.txt --pyproject pyproject.toml --mc-type application \
		--output-reproducible --of JSON -o dist/codequarry.cdx.json

clean: ## Remove what the targets made: .venv, .demo, .model, build and caches.
	rm -rf $(VENV) .demo .model build dist codequarry.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 or newer found (tried $(CANDIDATES)); install one or say make PYTHON=/path/to/python" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $(PYTHON) is older than Python 3.11" >&2; exit 1; }
	@echo "creating $(VENV) with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); echo "error: no virtual environment can be made; on Debian: apt install python3-venv" >&2; exit 1; }

$(VENV)/.installed: pyproject.toml $(LOCKS)/service.txt | $(BIN)/python
	@echo "installing codequarry"
	@$(INSTALL) $(LOCKS)/service.txt
	@$(INSTALL_CODE)
	@touch $@

$(VENV)/.test: pyproject.toml $(LOCKS)/development.txt | $(BIN)/python
	@echo "installing codequarry with what tests, linters and training need"
	@$(INSTALL) $(LOCKS)/development.txt
	@$(INSTALL_CODE)
	@touch $(VENV)/.installed $@

# mypy and import-linter cannot follow an editable install, so they read the wheel that users get.
build/typed/.built: $(SOURCES) $(VENV)/.test
	@rm -rf build/typed build/wheel build/lib build/bdist.*
	@$(BIN)/python -m build --quiet --no-isolation --wheel --outdir build/wheel . 2>&1 | grep -v -e UserWarning -e '^  *warnings.warn' || true
	@$(BIN)/python -m pip install -qq --no-deps --target build/typed build/wheel/*.whl
	@touch $@
