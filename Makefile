# Everything that a person needs to type. `make` alone lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TORCH := torch==2.13.0
RUN := PYTHONPATH=platform:. $(BIN)/python
CODE := platform jobs quotas ray_runtime tests benchmarks manage.py
# mypy's Django plugin loads the settings; nothing is connected to.
CHECK_ENV := DATABASE_URL=postgres://check@127.0.0.1/check REDIS_URL=redis://127.0.0.1/0 \
	GANGLINE_SECRET_KEY=for-checks-alone-never-for-a-server GANGLINE_CONDUCTOR_TOKEN=for-checks-alone-never-for-a-server

.PHONY: help setup demo run test check fmt bench peers sim e2e docs lock

help: ## list the targets
	@grep -hE '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) ## make .venv and install what is locked

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

demo: setup ## the whole platform on this machine, and three real training jobs that share it
	$(RUN) -m gangline.demo

run: setup ## the whole platform on this machine, empty
	$(BIN)/gangline up

test: setup ## every test that needs no browser and no privilege
	$(BIN)/python -m pytest

check: setup ## what CI checks: lint, format, types, layers, house rules
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(CHECK_ENV) $(BIN)/mypy platform jobs quotas ray_runtime tests benchmarks
	PYTHONPATH=platform:. $(BIN)/lint-imports
	$(BIN)/python -m pytest tests/house

fmt: setup ## format the code
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

e2e: setup ## tests with Chromium, and with network namespaces (root)
	$(BIN)/python -m pytest -m e2e

bench: setup ## measure; BENCH="start burst" measures only those
	$(RUN) -m benchmarks $(BENCH)

peers: setup ## the environment of the benchmarks' peers
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH) "ray[train]==2.60.0"

sim: setup ## the engine on real traces, beside its baselines; SIM="--only kalos" for one of them
	$(RUN) -m benchmarks.quality $(SIM)

docs: setup ## write the generated pages of docs/reference anew
	$(CHECK_ENV) $(RUN) manage.py write_reference
	$(RUN) -m gangline.reference > docs/reference/cli.md

lock: ## resolve pyproject.toml into requirements.lock (needs uv)
	uv pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --all-extras \
		--python-version 3.11 --python-platform x86_64-manylinux_2_28 --custom-compile-command "make lock" \
		pyproject.toml -o requirements.lock
