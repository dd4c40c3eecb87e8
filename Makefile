# Everything a person or a machine does with this repository is a target here.
# Only Python >= 3.11 and make are needed; uv is put into .tools when it is missing.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null || echo .tools/uv/bin/uv)
SEED   ?= 1
JOBS   ?= 3
ARGS   ?=

.DEFAULT_GOAL := help
.PHONY: help setup setup-spark setup-dev demo test check format bench sim thorough chaos parity conformance labs docs docs-test site lock clean

help: ## Show this list.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

.tools/uv/bin/uv:
	$(PYTHON) -m venv .tools/uv
	.tools/uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt

$(VENV)/.main: requirements/main.txt requirements/build.txt pyproject.toml | $(filter .tools/%,$(UV))
	@test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) $(VENV)
	$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/main.txt -r requirements/build.txt
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.spark: $(VENV)/.main requirements/spark.txt
	$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/spark.txt
	$(BIN)/python -m headrace.cli.install_java
	@touch $@

$(VENV)/.dev: $(VENV)/.main requirements/dev.txt
	$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/dev.txt
	@touch $@

setup: $(VENV)/.main ## Create .venv and install Headrace (leaves .venv/bin/headrace).

setup-spark: $(VENV)/.spark ## The same, with what pipelines on Spark need.

setup-dev: $(VENV)/.dev ## The same, with what tests and checks need.

demo: setup-spark ## A broker and a pipeline on Spark that finds fraud; figures checked, a plot.
	$(BIN)/python -m examples.ip_fraud.demo $(ARGS)

labs: setup-dev ## Short exercises that check their outcome; ARGS="lego single_node", "--list".
	$(BIN)/python -m examples.labs $(ARGS)

test: setup-dev ## Run every test, three files at a time; SEED=2 in another order, JOBS=0 in this process.
	$(BIN)/python -m pytest --randomly-seed=$(SEED) --durations 25 -n $(JOBS) --dist loadfile $(ARGS)

thorough: setup-dev ## What `make test` has a sample of: more seeds, examples, versions; takes hours.
	HEADRACE_THOROUGH=1 $(BIN)/python -m pytest -m "thorough or hypothesis or seeds" --timeout 3600 -n $(JOBS) --dist loadfile $(ARGS)

check: setup-dev ## Format, lint, types, layers.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: setup-dev ## Rewrite the code in the house style.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup-dev ## Measure Headrace beside Apache Kafka; prints ratios.
	$(BIN)/python -m benchmarks $(ARGS)

sim: setup-dev ## Replay one seed of the simulation: make sim SEED=8412.
	HEADRACE_SEED=$(SEED) $(BIN)/python -m pytest tests/simulation --ignore tests/simulation/test_planted_faults.py --ignore tests/simulation/cluster/test_planted_faults.py -p no:randomly $(ARGS)

chaos: setup-dev ## Chaos on a cluster of real processes, ten minutes; ARGS="--minutes 60 --seed 1".
	$(BIN)/python -m tests.chaos.cluster $(ARGS)

parity: setup-dev ## Kafka's tools beside ours, the same command lines; ARGS="--only kafka-topics".
	$(BIN)/python -m tests.parity $(ARGS)

conformance: setup-dev ## Other projects' suites, compared with Apache Kafka; ARGS="--quick", "--only librdkafka".
	$(BIN)/python -m tests.suites $(ARGS)

docs: setup-dev ## Regenerate the pages under docs/reference.
	$(BIN)/python docs/generate.py

site: $(filter .tools/%,$(UV)) ## Build the guides into a website with search: build/site/index.html.
	@test -x .tools/site/bin/mkdocs || $(UV) venv --quiet --python $(PYTHON) .tools/site
	$(UV) pip install --quiet --python .tools/site/bin/python --require-hashes -r requirements/docs.txt
	NO_MKDOCS_2_WARNING=1 .tools/site/bin/mkdocs build --quiet --strict --config-file docs/mkdocs.yml --site-dir ../build/site
	@echo "to read it with search: python3 -m http.server --bind 127.0.0.1 --directory build/site 8000"

docs-test: setup-dev ## Run every shell and Python block of README and guides; ARGS="spark/", "--list".
	$(BIN)/python -m tests.docs $(ARGS)

lock: setup ## Recompute the pinned requirements.
	$(UV) pip compile -q --generate-hashes --no-header --no-annotate --universal --python-version 3.11 requirements/uv.in -o requirements/uv.txt
	$(UV) pip compile -q --generate-hashes --no-header --no-annotate --universal --python-version 3.11 requirements/build.in -o requirements/build.txt
	$(UV) pip compile -q --generate-hashes --no-header --no-annotate --universal --python-version 3.11 pyproject.toml --extra cluster --extra spark --extra plot --extra connect --extra lake --group dev -o requirements/dev.txt
	$(UV) pip compile -q --generate-hashes --no-header --no-annotate --universal --python-version 3.11 pyproject.toml -c requirements/dev.txt -o requirements/main.txt
	$(UV) pip compile -q --generate-hashes --no-header --no-annotate --universal --python-version 3.11 pyproject.toml --extra cluster --extra spark --extra plot -c requirements/dev.txt -o requirements/spark.txt
	$(UV) pip compile -q --generate-hashes --no-header --no-annotate --universal --python-version 3.11 --group docs -o requirements/docs.txt

clean: ## Remove what the targets above created.
	rm -rf .venv .tools .cache build dist
