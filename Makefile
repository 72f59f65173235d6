PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check
CORES := $(shell nproc 2>/dev/null || echo 2)
EXTRA ?= text,report
EVERYWHERE := not full and not peers and not gpu and not cluster and not latex and not wheel
CORE := not contrib and $(EVERYWHERE)
VERSION_ERROR := pe_lab needs Python 3.11 or newer. Name one: make PYTHON=python3.11

.PHONY: quickstart install docs site test test-changed test-slow test-contrib test-full test-latex test-wheel test-peers test-gpu test-cluster lint lock clean

quickstart: $(VENV)/installed
	$(RUN) -m pe_lab sweep quickstart

install: $(VENV)/installed  # pe_lab from this checkout, with extras: make install EXTRA=cuda13
	$(PIP) --editable '.[$(EXTRA)]'

docs: $(VENV)/installed_dev  # writes the generated pages; CI compares them with --check
	$(RUN) -m docs.build

site: $(VENV)/installed_dev  # the documentation as a site that works offline: build/site/index.html
	$(RUN) -m docs.site

test test-changed test-slow test-contrib test-full: export PYTHONDONTWRITEBYTECODE =  # each process would compile the whole checkout again
test: $(VENV)/installed_dev
	$(RUN) -m pytest -n $(CORES) -m "not slow and $(CORE)"

test-changed: SINCE ?= main
test-changed: $(VENV)/installed_dev  # of what differs from a branch: make test-changed SINCE=HEAD
	$(RUN) -m tests.changed --since=$(SINCE) -n $(CORES) -m "not slow and $(EVERYWHERE)"

test-slow: $(VENV)/installed_dev  # CI runs it after `make test`
	$(RUN) -m pytest -n $(CORES) -m "slow and $(CORE)"

test-contrib: $(VENV)/installed_dev  # the parts of pe_lab/contrib; CI runs it
	$(RUN) -m pytest -n $(CORES) -m "contrib and $(EVERYWHERE)"

test-full: $(VENV)/installed_dev
	$(RUN) -m pytest -n $(CORES) -m "not peers and not gpu and not cluster and not wheel"

test-wheel: $(VENV)/installed_dev  # installs the wheel in an empty environment; CI runs it
	$(RUN) -m pytest -m wheel tests/test_installation.py

test-latex: $(VENV)/installed_dev  # apt-get install texlive-latex-base texlive-latex-recommended
	$(RUN) -m pytest -m latex

test-peers: $(VENV)/installed_dev  # torch's CPU build is enough
	$(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check torch transformers x-transformers mlflow safetensors tensorboardX trackio wandb
	$(VENV)-peers/bin/python -m pytest -m peers -W default

test-gpu: $(VENV)/installed_dev  # on a machine with a GPU; first make install EXTRA=cuda13
	TEST_PLATFORMS=cuda,cpu $(RUN) -m pytest -m gpu tests/gpu
	$(RUN) -m experiments.benchmark --config=quickstart --members=1,8,30,100 --out=results/gpu/members.json

test-cluster: $(VENV)/installed_dev  # on a real Slurm (Debian's packages, as root) and a real Ray, each of two nodes on loopback
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends mariadb-server munge slurm-wlm slurmdbd
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check 'ray>=2.50'
	$(RUN) -m pytest -m cluster tests/cluster

lint: $(VENV)/installed_dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

$(VENV)/installed: requirements.lock  # what studies need, and pe_lab itself
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("$(VERSION_ERROR)")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements.lock
	$(PIP) --no-build-isolation --no-deps --editable .
	touch $@

$(VENV)/installed_dev: requirements-dev.lock $(VENV)/installed  # what tests, linters and pages need
	$(PIP) --require-hashes -r requirements-dev.lock
	touch $@

lock: LOCK := uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-header
lock: STUDIES := --group build --extra text --extra report
lock:  # needs uv
	$(LOCK) --upgrade $(STUDIES) --output-file requirements.lock
	$(LOCK) --upgrade --constraints requirements.lock $(STUDIES) --extra slurm --group dev --output-file requirements-dev.lock

clean:
	rm -rf $(VENV) .cache build
