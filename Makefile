# The entry points of users and of CI; `make` alone lists all targets.
PYTHON ?=
TEST_WORKERS ?= 4
# Many of these tests start Ray, which gives a node 30 s to answer, however busy the machine is.
SOAK_WORKERS ?= 3
BIN := .venv/bin
INSTALLED := .venv/.installed
INSTALLED_TEST := .venv/.installed-test
INSTALLED_BENCH := .venv/.installed-bench

.DEFAULT_GOAL := help
.PHONY: help setup demo test soak soak-live mutants lint format docs architecture readme bench bench-memory evidence check lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' Makefile

setup: $(INSTALLED) ## Create .venv with pinned versions (again only when they change)

$(INSTALLED): pyproject.toml constraints.txt tools/setup.sh
	@PYTHON='$(PYTHON)' tools/setup.sh
	@touch $@

$(INSTALLED_TEST): $(INSTALLED)
	@EXTRAS=cluster,server,postgresql,dev,torch tools/setup.sh
	@touch $@

$(INSTALLED_BENCH): $(INSTALLED_TEST)
	@EXTRAS=cluster,server,postgresql,dev,torch,bench tools/setup.sh
	@touch $@

demo: $(INSTALLED) ## Run a dozen real jobs on a live cluster inside this machine
	@$(BIN)/motet demo

# Hundreds of processes import the sources: where bytecode is not kept, each compiles them again.
test soak soak-live mutants: export PYTHONDONTWRITEBYTECODE :=

test: $(INSTALLED_TEST) ## Run the tests (TEST_WORKERS=4)
	$(BIN)/python -m pytest -n $(TEST_WORKERS) --dist loadfile --no-loadscope-reorder

soak: $(INSTALLED_TEST) ## Move blocks, reconfigure and kill at random; draw all random examples
	$(BIN)/python -m pytest -n $(SOAK_WORKERS) --dist load -m 'soak or hypothesis' --hypothesis-profile=soak

soak-live: $(INSTALLED_TEST) ## Kill processes of the live cluster five hundred times
	$(BIN)/python -m pytest -m soak_live tests/soak_live

mutants: $(INSTALLED_TEST) ## Put random faults into a copy of the code; the tests must catch nine of ten
	$(BIN)/python tools/mutation_check.py --workers $(SOAK_WORKERS)

lint: $(INSTALLED) ## Check style, types and the rules of who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports

format: $(INSTALLED) ## Fix style and formatting automatically
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(INSTALLED) ## Build the documentation into docs/_build/html; a warning is an error
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

architecture: $(INSTALLED) ## Write the pictures of docs/architecture.md from the imports
	$(BIN)/python tools/architecture_picture.py

readme: $(INSTALLED) ## Run the code blocks of the README and of the guides
	$(BIN)/python tools/run_blocks.py README.md docs/quickstart.md docs/applications.md docs/reference/data.md docs/reference/python.md docs/reference/loss-curves.md docs/systems/themis.md

bench: $(INSTALLED_BENCH) ## Measure; writes benchmarks/results
	@set -e; for script in $(filter-out benchmarks/cruise_testbed.py benchmarks/harmony_profiles.py benchmarks/harmony_simulation.py benchmarks/schedulers.py benchmarks/evidence_table.py benchmarks/remote_memory_all.py benchmarks/slaq_fit.py,$(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script; done

bench-memory: $(INSTALLED_TEST) ## Measure remote memory (root, 35 minutes); writes its records and pages
	@$(BIN)/python benchmarks/remote_memory_all.py; status=$$?; \
	$(BIN)/python benchmarks/evidence_table.py --report recorded; exit $$status

evidence: $(INSTALLED) ## Simulate what the papers measured; writes docs/evidence.md and tables into docs/systems
	@$(BIN)/python benchmarks/schedulers.py
	@$(BIN)/python benchmarks/schedulers.py --report
	@$(BIN)/python benchmarks/harmony_simulation.py
	@$(BIN)/python benchmarks/harmony_simulation.py --report
	@$(BIN)/python benchmarks/evidence_table.py
	@$(BIN)/python benchmarks/evidence_table.py --report

check: lint docs test readme soak ## All that CI checks

lock: $(INSTALLED) ## Pin the newest versions that fit pyproject.toml
	$(BIN)/python tools/lock.py

clean: ## Remove what was built, compiled kernels too; .venv stays
	find src \( -name '*.nb[ic]' -o -name 'motet-kernels-*' \) -delete
	rm -rf docs/_build build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
