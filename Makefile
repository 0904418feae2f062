# Every target does its own set-up in .venv; the machine needs Python 3.11+ and git, no more.
# PYTHON=/path/to/python3.12 chooses another Python than the first one that fits.

VENV := .venv
BIN := $(VENV)/bin
CANDIDATES := python3.13 python3.12 python3.11 python3 python
# A name on the PATH may be a stub that only says which versions there are, so each one is run.
PYTHON ?= $(firstword $(foreach name,$(CANDIDATES),$(shell \
	$(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $(name))))
PACKAGES := cli ingest opensearch search_api shared
SOURCES = $(shell find $(PACKAGES) -type f -not -path '*/__pycache__/*') pyproject.toml

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# A process for each processor, up to four: beyond that the one OpenSearch node is what they wait for. The tests of a
# module share what it sets up, so they stay together, and the longest are begun first (tests/conftest.py).
IN_PARALLEL := --numprocesses logical --maxprocesses 4 --dist loadscope --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help venv demo test lint bench model clean

help: ## Say what there is.
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | awk -F'\t' '{printf "  make %-6s %s\n", $$1, $$2}'

venv: $(VENV)/.installed ## Install the `codequarry` command into .venv.
	@echo "$(BIN)/codequarry is ready"

demo: $(VENV)/.installed ## Index two real repositories and search them (about two minutes; data in ./.demo).
	@$(BIN)/python bench/demo.py

test: $(VENV)/.test ## Run the whole test suite, with a real OpenSearch that comes by pip.
	$(BIN)/python -m pytest $(IN_PARALLEL)

lint: $(VENV)/.lint build/typed/.built ## Check style, types and the direction of imports.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	MYPYPATH=build/typed $(BIN)/mypy $(PACKAGES:%=-p codequarry.%)
	PYTHONPATH=build/typed $(BIN)/lint-imports

bench: $(VENV)/.test ## Measure speed on this machine (minutes); docs/measurements.md has more and its results.
	$(BIN)/python bench/demo.py --libraries-only
	$(BIN)/python -m bench.acceptance.speed --repo .demo/libraries/.git
	$(BIN)/python bench/embedded_store.py
	$(BIN)/python bench/embedding_speed.py

model: $(VENV)/.training ## Train the code-embedding model from scratch (needs npm, cargo, go and apt-get too; training/README.md).
	$(BIN)/python -m training.make --work .model $(MODEL_OPTIONS)

clean: ## Remove what the targets made: .venv, .demo, .model, build and caches.
	rm -rf $(VENV) .demo .model build dist codequarry.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 or newer found (tried $(CANDIDATES)); install one or say make PYTHON=/path/to/python" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $(PYTHON) is older than Python 3.11" >&2; exit 1; }
	@echo "creating $(VENV) with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); echo "error: no virtual environment can be made; on Debian: apt install python3-venv" >&2; exit 1; }

# Dependency groups need pip 25.1; the one that comes with Python 3.11 is older.
$(VENV)/.pip: | $(BIN)/python
	@$(BIN)/python -m pip install -qq --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.pip
	@echo "installing codequarry"
	@$(BIN)/python -m pip install -qq -e .
	@touch $@

$(VENV)/.test: pyproject.toml $(VENV)/.pip
	@echo "installing codequarry with what the tests need"
	@$(BIN)/python -m pip install -qq -e '.[node,onnx,otel]' --group test
	@touch $(VENV)/.installed $@

$(VENV)/.training: pyproject.toml $(VENV)/.pip
	@echo "installing codequarry with what training needs"
	@$(BIN)/python -m pip install -qq -e '.[node,onnx]' --group training
	@touch $(VENV)/.installed $@

$(VENV)/.lint: pyproject.toml $(VENV)/.test
	@echo "installing the linters"
	@$(BIN)/python -m pip install -qq --group lint
	@touch $@

# mypy and import-linter cannot follow an editable install, so they read the wheel that users get.
build/typed/.built: $(SOURCES) $(VENV)/.lint
	@rm -rf build/typed build/wheel build/lib build/bdist.*
	@$(BIN)/python -m build --quiet --wheel --outdir build/wheel . 2>&1 | grep -v -e UserWarning -e '^  *warnings.warn' || true
	@$(BIN)/python -m pip install -qq --no-deps --target build/typed build/wheel/*.whl
	@touch $@
