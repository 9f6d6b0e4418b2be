# Everything here sets up .venv by itself when it is missing (tools/setup.sh).
#   PYTHON=...  names a Python 3.11 or 3.12;  TORCH=cpu  takes torch's CPU build;  ARGS="..." is passed on
#   CHAPTER=gpu  (or tpu, fpga, distributed) sets up for `make lab` what that chapter needs, and no more

.DEFAULT_GOAL := help
.PHONY: help setup lab test prove lint build bench gpu-report numba-tests links lines lock colab-check clean
SHELL := /bin/sh
RUN := .venv/bin/python -m

help:  ## list these commands
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' Makefile | awk -F'|' '{ printf "make %-12s %s\n", $$1, $$2 }'

setup:
	@CHAPTER= tools/setup.sh

lab:  ## open the course in JupyterLab; ARGS="--no-browser --port=8899" serves without a screen
	@CHAPTER=$(CHAPTER) tools/setup.sh && $(RUN) labkit lab $(ARGS)

# The tests see neither the learner's progress nor the network, and none reads the clock: two
# processes share them in one session, quick ones first, slow ones last, while a third begins with
# the lessons (conftest.py, tests/conftest.py); the quick ones need no third, which would only
# collect and import once more. What is marked `night` is proved by `make prove` alone.
# Hundreds of processes import labkit: where none may write bytecode, each would compile it anew.
PYTEST := pytest --quiet --nbval
APART := home=$$(mktemp -d) && trap 'rm -rf "$$home"' EXIT && trap 'exit 130' INT TERM && \
	export LABKIT_HOME="$$home" LABKIT_PROGRESS=off LABKIT_OFFLINE=1 && unset PYTHONDONTWRITEBYTECODE
RUFF := $(RUN) ruff check . && $(RUN) ruff format --check .
test: setup  ## prove every helper and every lesson: ruff, tests, notebooks; ARGS=quick leaves out what is slow
	@$(APART) && $(RUFF) && \
	if [ "$(ARGS)" = quick ]; then $(RUN) $(PYTEST) --numprocesses=2 tests chapters/*/source simt/tests -m "not night and not slow"; \
	else $(RUN) $(PYTEST) --numprocesses=3 tests chapters simt/tests -m "not night"; fi

prove: setup  ## prove all there is, and write it into README; interrupted, it goes on where it was
	@$(APART) && $(RUFF) && $(RUN) tools.prove

lint: setup  ## ruff alone
	@$(RUFF)

build: setup  ## write the notebooks and CLAIMS.md from chapters/*/source; ARGS="--check" compares only
	@$(RUN) labkit build $(ARGS)

bench: setup  ## measure what the README promises; exit code 1 when a ratio or a count is missed
	@for one in foundation checks grade gpu/simt gpu/command tpu/systolic fpga distributed ddp parameter_server unlike_machines pipeline sharded cost_model; do .venv/bin/python benchmarks/$$one.py || failed=1; done; \
	exit $${failed:-0}

# Set up only where no Python at hand has what a report needs.
NEEDS := import sys, importlib.util as u; \
	sys.exit(sys.version_info < (3, 11) or not all(map(u.find_spec, ("numpy", "numba", "numba_cuda", "torch"))))
gpu-report:  ## what this machine's GPU says of the course, in eight minutes; ARGS="--out FOLDER"
	@for python in "$(PYTHON)" .venv/bin/python python3; do \
	if [ -n "$$python" ] && "$$python" -c '$(NEEDS)' 2>/dev/null; then exec "$$python" -m labkit.gpu.report $(ARGS); fi; \
	done; tools/setup.sh && exec $(RUN) labkit.gpu.report $(ARGS)

numba-tests: setup  ## run Numba's own kernel tests, and every function by dtype, on the SIMT machine; ARGS="--write"
	@.venv/bin/python simt/tools/numba_tests.py $(ARGS) && .venv/bin/python simt/tools/numba_functions.py $(ARGS)

links: setup  ## ask for every external link once (needs the network)
	@.venv/bin/python tools/links.py

lines: setup  ## lines of Python in labkit and numba_simt, room by room, and how dense they are
	@.venv/bin/python tools/lines.py

lock: setup  ## write requirements.lock from pyproject.toml (tools/lock.py tells how; needs the network)
	@$(RUN) uv --version >/dev/null 2>&1 || { echo "installing uv into .venv" && $(RUN) pip install --quiet uv; }
	@.venv/bin/python tools/lock.py

colab-check: setup  ## install and run the lessons on Colab's published versions; ARGS="cpu gpu tpu" chooses
	@$(RUN) uv --version >/dev/null 2>&1 || { echo "installing uv into .venv" && $(RUN) pip install --quiet uv; }
	@.venv/bin/python tools/colab_check.py $(ARGS)

clean:  ## remove .venv and caches; never work/, where the learner's copies are
	@rm -rf .venv build *.egg-info simt/build simt/*.egg-info .pytest_cache .ruff_cache .hypothesis
	@find . \( -path ./work -o -path ./.git \) -prune -o -name __pycache__ -prune -exec rm -rf {} +
