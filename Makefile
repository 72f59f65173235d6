PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
CORES := $(shell nproc 2>/dev/null || echo 2)
EXTRA ?= experiments
EVERYWHERE := not full and not peers and not gpu and not cluster and not latex
VERSION_ERROR := pe_lab needs Python 3.11 or newer. Name one: make PYTHON=python3.11

.PHONY: quickstart install docs test test-slow test-full test-latex test-peers test-gpu test-cluster lint lock clean

quickstart: $(VENV)/installed
	$(RUN) -m experiments.sweep --config=configs/quickstart.py

install: $(VENV)/installed  # pe_lab from this checkout, with extras: make install EXTRA=cuda13
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRA)]'

docs: $(VENV)/installed  # writes the generated pages; CI compares them with --check
	$(RUN) -m docs.build

test test-slow test-full: export PYTHONDONTWRITEBYTECODE =  # each process would compile the whole checkout again
test: $(VENV)/installed
	$(RUN) -m pytest -n $(CORES) -m "not slow and $(EVERYWHERE)"

test-slow: $(VENV)/installed  # CI runs it after `make test`
	$(RUN) -m pytest -n $(CORES) -m "slow and $(EVERYWHERE)"

test-full: $(VENV)/installed
	$(RUN) -m pytest -n $(CORES) -m "not peers and not gpu and not cluster"

test-latex: $(VENV)/installed  # apt-get install texlive-latex-base texlive-latex-recommended
	$(RUN) -m pytest -m latex

test-peers: $(VENV)/installed  # torch's CPU build is enough
	$(PYTHON) -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check torch transformers x-transformers tensorboardX wandb
	$(VENV)-peers/bin/python -m pytest -m peers -W default

test-gpu: $(VENV)/installed  # on a machine with a GPU; first make install EXTRA=cuda13
	TEST_PLATFORMS=cuda,cpu $(RUN) -m pytest -m gpu tests/gpu
	$(RUN) -m experiments.benchmark --config=configs/quickstart.py --members=1,8,30,100 --out=results/gpu/members.json

test-cluster: $(VENV)/installed  # on a real Slurm of two nodes on loopback; Debian's packages, as root
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends mariadb-server munge slurm-wlm slurmdbd
	$(RUN) -m pytest -m cluster tests/cluster

lint: $(VENV)/installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

$(VENV)/installed: requirements.lock
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("$(VERSION_ERROR)")'
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	touch $@

lock:  # needs uv
	uv pip compile pyproject.toml --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --extra experiments --extra report --extra slurm --group dev --output-file requirements.lock

clean:
	rm -rf $(VENV) .cache
