# Each target makes .venv, with everything it needs, if there is none.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
QUICK := not (pages or pictures or browser or benchmarks or slow)

.PHONY: demo quick test check docs bench pages format clean

demo: $(READY)          ## a humanoid's dynamics by three backends, times beside Pinocchio, closed loops that walk, plots in out/
	$(BIN)/python examples/demo.py

quick: $(READY)         ## the inner loop: tests without the kinds that are slow (see tests/conftest.py), within two minutes
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "$(QUICK)"

test: $(READY)          ## all tests
	$(BIN)/python -m linkwork.compilers.warm
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal --durations=15

check: $(READY)         ## format, lint, types, direction of imports; tests/docs build the pages
	$(BIN)/ruff format --check src benchmarks tests examples scripts
	$(BIN)/ruff check src benchmarks tests examples scripts
	$(BIN)/python -m mypy
	$(BIN)/python -m pytest tests/repository/test_packages.py

docs: $(READY)          ## the documentation site, into build/site; links that lead nowhere are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: $(READY)         ## ours beside Pinocchio and MuJoCo, into benchmarks/linkwork_benchmarks/results/trees.json
	$(BIN)/python -m linkwork_benchmarks

pages: $(READY)         ## pages and tables of results, from the result files: nothing is measured
	$(BIN)/python -m linkwork_benchmarks pages
	$(BIN)/python scripts/algorithm_tables.py

format: $(READY)        ## format and fix what can be fixed
	$(BIN)/ruff format src benchmarks tests examples scripts
	$(BIN)/ruff check --fix src benchmarks tests examples scripts

clean:                  ## remove the virtual environment and what tools leave behind
	rm -rf $(VENV) out build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(READY): pyproject.toml benchmarks/pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test,plot,dev,docs]" -e benchmarks
	touch $@
