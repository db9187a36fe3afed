# Thin on purpose: a shell script makes .venv, the rest is `python -m controlplane.provision` and `manage.py`.
# DEMO_EXIT=1 make demo: run unattended and exit 0 only if nothing is missing. UP_ARGS: flags for `manage.py up`,
# BENCH_ARGS: flags for `python -m bench`. TURNS= runs all tests of `make test`, and not those alone whose turn it is.
SHELL := /bin/sh
PY := .venv/bin/python
PROVISION := $(PY) -m controlplane.provision
MANAGE := $(PY) manage.py
STEPS := $(PY) -m tests.steps
PYTEST := $(PY) -m pytest
TIMES := $(CURDIR)/var/test-times
FAST := tests/unit tests/db tests/contracts tests/simulation tests/attacks
# More than there are processors, since many of these tests wait for processes and timers; the last ones are shared out.
FAST_PYTEST := $(PYTEST) -n $(shell expr $$(getconf _NPROCESSORS_ONLN) \* 3 / 2) --dist worksteal $(FAST)
TURNS ?= --by-turns
SLOW_PYTEST := $(PYTEST) -n $(shell expr $$(getconf _NPROCESSORS_ONLN) \* 3 / 2) --dist loadgroup $(TURNS) tests/chaos tests/e2e tests/agent
UP_ARGS ?=
BENCH_ARGS ?=
PYTHON ?= python3
export PYTHON
# Bytecode is kept whatever the shell says: without it each of hundreds of processes compiles what it imports.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help environment setup demo wheel sbom audit-dependencies up test test-fast test-times test-postgres test-pages check chaos bench bench-control docs screenshots generate fmt clean

help: ## what can be done
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-20s %s\n", $$1, $$2}' Makefile

environment:
	@echo "Set-up of Headgate"
	@controlplane/provision/bootstrap.sh

setup: environment ## make this machine able to run Headgate (idempotent)
	@$(PROVISION) setup

demo: setup ## a pipeline on real Kafka and Spark; DEMO_EXIT=1 runs it unattended and prints the ledger totals
	@$(MANAGE) up --demo $(if $(filter-out 0,$(DEMO_EXIT)),--exit) $(UP_ARGS)

wheel: setup ## build the wheel, with the page in it, into dist/
	@.venv/bin/uv build --quiet --wheel --build-constraint controlplane/provision/build.txt --require-hashes --out-dir dist .

sbom: setup ## write dist/headgate.cdx.json: every package and jar of the locks with its hashes (CycloneDX), offline
	@$(PY) -m tests.supply.sbom dist/headgate.cdx.json

audit-dependencies: setup ## compare the locks with a checkout of advisories (OSV), offline; ADVISORIES=DIRECTORY
	@$(PY) -m tests.supply.audit $(ADVISORIES)

up: setup ## Redis, Kafka, worker and web server for development
	@$(MANAGE) up $(UP_ARGS)

check: environment ## lint, formatting, types, import rules and words
	@$(STEPS) check

test-fast: environment ## every test without Spark, Kafka or a browser (three minutes on two cores)
	@$(STEPS) vitest -- $(FAST_PYTEST)

test: export TEST_TIMES := $(TIMES)
test: environment ## every test module, in order of cost; of the tests with stacks and agents every third one, all with TURNS= (about an hour on two cores)
	@rm -rf $(TIMES) && mkdir -p $(TIMES)
	@$(STEPS) check vitest services
	@$(FAST_PYTEST)
	@$(SLOW_PYTEST)

test-times: ## the table of times of the last `make test`
	@$(PY) -m tests.times $(TIMES)

test-postgres: setup ## the database's tests with PostgreSQL as the control plane's database
	@$(PROVISION) postgres
	@$(PY) -m tests.on_postgres -n auto tests/db tests/contracts tests/simulation

chaos: setup ## break everything on purpose, report in docs/reference/chaos.md; FAULT=46 runs one row; SEEDS= (an hour or two); SOAK=3600 strikes at random for an hour, SEED= replays it
ifdef SOAK
	@$(PY) -m tests.chaos.soak --seconds $(SOAK) $(if $(SEED),--seed $(SEED))
else
	@$(PROVISION) postgres
	@$(PY) -m tests.chaos $(if $(FAULT),--fault $(FAULT)) $(if $(SEEDS),--seeds $(SEEDS))
endif

test-pages: setup ## every page and dialog in every width and scheme, with axe, and every role; `make test` takes every other (half an hour)
	@$(PROVISION) browser
	@HEADGATE_CHAOS=1 $(PYTEST) -n 2 --dist loadgroup tests/e2e

bench: setup ## compare with Flume and Kafka Connect on an idle machine; CASE=, RECORDS=, RUNS=, BENCH_ARGS= (hours)
	@$(PY) -m bench $(if $(CASE),--case $(CASE)) $(if $(RECORDS),--records $(RECORDS)) $(if $(RUNS),--runs $(RUNS)) $(BENCH_ARGS)

bench-control: setup ## measure the control plane on SQLite and PostgreSQL; CASE=, BENCH_ARGS= (half an hour)
	@$(PROVISION) postgres
	@$(PY) -m bench.control $(if $(CASE),--case $(CASE)) $(BENCH_ARGS)

docs: environment ## build the documentation's site into ./site; the web server has it under /docs
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --quiet

screenshots: setup ## take the pictures of every screen anew, light and dark, from a stack of its own (eight minutes)
	@$(PROVISION) browser
	@$(PY) -m tests.screenshots

generate: setup ## write what is made from the code: reference pages in docs/ and the page's types of the API
	@$(MANAGE) render_states
	@$(MANAGE) render_definition
	@$(MANAGE) render_components
	@$(MANAGE) render_cli
	@$(MANAGE) render_migrations
	@$(MANAGE) render_migration_examples
	@$(MANAGE) render_schema
	@$(MANAGE) render_vocabulary
	@$(MANAGE) render_architecture
	@$(MANAGE) render_settings
	@$(MANAGE) render_metrics
	@cd frontend && npm run --silent types

fmt: setup ## format and fix what can be fixed
	@.venv/bin/ruff check --fix --exit-zero .
	@.venv/bin/ruff format .
	@$(PROVISION) format-frontend

clean: ## remove what set-up and tests made here, except var/ and the cache of downloads
	rm -rf .venv frontend/node_modules frontend/dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
