# `make` prints what there is. Nothing but make and Python 3.11 or newer has to be there before.
.DEFAULT_GOAL := help
.PHONY: help setup demo dev test test-apache faults fuzz check format bench up down constraints clean

# The first of these that is new enough; another one: make PYTHON=/path/to/python3.
PYTHON ?= $(shell for candidate in python3 python3.11 python3.12 python3.13; do \
	$$candidate -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$candidate && break; done)
VENV := .venv
BIN := $(VENV)/bin
ROOTS := schemas sdk streams consumers cli
CODE := $(wildcard $(ROOTS) migrations scripts tests bench)
ARGS ?=
SEED ?= 1
BROKERS ?= 1

help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.ready ## make .venv with everything in it; the others do this too

demo: setup ## replay real CI runs through it and print what was found
	@$(BIN)/watchline demo $(ARGS)

dev: setup ## run everything on this machine, in one terminal
	@$(BIN)/watchline dev $(ARGS)

test: setup ## run the tests; ARGS="-k name" for some of them
	$(BIN)/python -m pytest $(ARGS)

test-apache: setup ## the same on Apache Kafka; needs Java 17 and Maven
	WATCHLINE_TEST_BROKER=apache $(BIN)/python -m pytest $(ARGS)

faults: setup ## kill every part at every failpoint; MINUTES=6 SEED=1: all at once, by chance
ifdef MINUTES
	PYTHONPATH=tests $(BIN)/python -m faults.chaos --minutes $(MINUTES) --seed $(SEED) --brokers $(BROKERS) $(ARGS)
else
	WATCHLINE_TEST_BROKER=$(if $(shell command -v mvn),apache,embedded) $(BIN)/python -m pytest -m "" -rs tests/faults $(ARGS)
	WATCHLINE_TEST_BROKER=$(if $(shell command -v mvn),apache,embedded) $(BIN)/python -m pytest -m faults -rs \
		--ignore tests/faults $(ARGS)
endif

fuzz: setup ## feed the decoders hostile bytes; MINUTES=10, by chance unless SEED=1; REPLAY=target:hex
	PYTHONPATH=tests $(BIN)/python -m fuzzing $(if $(REPLAY),--replay $(REPLAY),--minutes $(or $(MINUTES),10) \
		$(if $(filter-out file,$(origin SEED)),--seed $(SEED))) $(ARGS)

check: setup ## format, lint, types, borders between the packages, known holes
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy $(CODE)
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/audit.py

format: setup ## put the code in its format and mend what ruff can mend
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

bench: setup ## measure the budgets and print a table
	$(BIN)/python -m bench $(ARGS)

up: .env ## start Kafka, Postgres and the services with Docker Compose
	@command -v docker >/dev/null || { echo "docker is not here; without it: make dev" >&2; exit 1; }
	docker compose up --build --detach
	docker compose ps

down: ## stop what `make up` started; the data stay
	docker compose down

constraints: setup ## pin the newest allowed versions in constraints.txt
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras --group dev \
		--no-annotate --no-header pyproject.toml --output-file constraints.txt

clean: ## remove .venv and all caches; the data of `make dev` stay
	rm -rf $(VENV) .cache dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.ready: pyproject.toml constraints.txt scripts/setup.sh
	@sh scripts/setup.sh "$(PYTHON)" $(VENV)
	@touch $@

.env:
	@sh scripts/dotenv.sh $@
