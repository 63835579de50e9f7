# Bare `make` lists the targets. Settings: make rq1 PROFILE=quick DATASET=city DATA=path SEEDS=3 JOBS=2

PROFILE ?= quick
DATASET ?= city
DATA    ?=
SEEDS   ?=
JOBS    ?=
WORKERS ?= 2
EXECUTOR ?= local

TORCH       := torch==2.13.0
TORCH_INDEX ?=
PYTHON      ?= python3
export TORCH_INDEX PYTHON

# `make … PY=python` uses the environment you are in (conda) and creates none
PY := .venv/bin/python
ifeq ($(origin PY),command line)
ENV :=
else
ENV := env
endif

QUESTIONS := rq1 rq2 rq3 rq4 rq5 rq6 rq7
ASKED = --profile "$(PROFILE)" --dataset "$(DATASET)" $(if $(DATA),--data "$(DATA)") $(if $(SEEDS),--seeds "$(SEEDS)")
STUDY = $(ASKED) $(if $(JOBS),--jobs "$(JOBS)") $(if $(filter-out local,$(EXECUTOR)),--executor "$(EXECUTOR)")

# of the handover; DATASET counts only where it was given, else DATA is your own table
GIVEN = $(if $(filter command environment,$(firstword $(origin DATASET))),--dataset "$(DATASET)") $(if $(DATA),--data "$(DATA)")
LEAVE = $(GIVEN) $(if $(PARAMS),--params "$(PARAMS)") $(if $(EPSILON),--epsilon "$(EPSILON)") $(if $(K),--k "$(K)")
SPEND = $(if $(N),--n "$(N)") $(if $(CAP),--cap "$(CAP)") $(if $(CAP_DELTA),--cap-delta "$(CAP_DELTA)") $(if $(CAP_UNIT),--cap-unit "$(CAP_UNIT)") \
        $(if $(filter-out 0,$(RAISE_CAP)),--raise-cap) $(if $(MOST_TRIPS),--most-trips "$(MOST_TRIPS)") $(if $(LEDGER),--ledger "$(LEDGER)") \
        $(if $(ACCOUNT),--account "$(ACCOUNT)") $(if $(filter-out 0,$(FIGURES)),--figures)
# a purpose is a sentence, so it goes by the environment and no shell reads it
export TRAJKIT_PURPOSE := $(value PURPOSE)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help env $(QUESTIONS) assess dpia release smoke test test-browser test-slurm sweep sweep-plan sweep-resume lint nightly bench doctor gpu-check lab pages lock clean

help:
	@echo "make TARGET [SETTING=value ...]"
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo "settings of the questions (make rq1 ...)"
	@echo "  PROFILE    smoke (seconds) | quick (minutes, the default) | full (hours) | paper (as published, needs a GPU)"
	@echo "  DATASET    city (simulated, the default) | porto | geolife | tables"
	@echo "  DATA       file or folder that holds the data set"
	@echo "  SEEDS      number of seeds, instead of the profile's"
	@echo "  JOBS       runs side by side, instead of as many as cores and memory allow"
	@echo "  EXECUTOR   local (this machine, the default) | slurm (one job a run)"
	@echo "  PY=python  use the environment you are in instead of .venv"

env: ## create .venv from requirements.lock (TORCH_INDEX=... chooses another torch build)
	@sh workflow/env.sh "$(TORCH)"

rq1: ## question 1: what does DP-SGD cost a trajectory generator? -> outputs/rq1/
rq2: ## question 2: what does a private condition add? -> outputs/rq2/
rq3: ## question 3: which model is best, without and with DP? -> outputs/rq3/
rq4: ## question 4: does the guarantee hold? -> outputs/rq4/
rq5: ## question 5: deep or classical, at the same epsilon? -> outputs/rq5/
rq6: ## question 6: anonymity or differential privacy? -> outputs/rq6/
rq7: ## question 7: what would we publish? -> outputs/rq7/
$(QUESTIONS): $(ENV)
	@$(PY) -m trajkit study $@ $(STUDY)

sweep: $(ENV) ## a question on a cluster: RQ=rq1 PROFILE=paper EXECUTOR=slurm (site settings: SBATCH_PARTITION, SBATCH_ACCOUNT ...)
	@test -n "$(RQ)" || { echo "trajkit: say RQ=rq1 ... rq7"; exit 2; }
	@$(PY) -m trajkit study "$(RQ)" $(STUDY)

sweep-plan: $(ENV) ## jobs, GPU hours and memory of RQ=rq1 PROFILE=paper, before anything is submitted (DEVICE=h100 EFFICIENCY=0.4)
	@test -n "$(RQ)" || { echo "trajkit: say RQ=rq1 ... rq7"; exit 2; }
	@$(PY) -m trajkit sweep-plan "$(RQ)" $(ASKED) $(if $(DEVICE),--device "$(DEVICE)") $(if $(EFFICIENCY),--efficiency "$(EFFICIENCY)")

sweep-resume: $(ENV) ## go on with the last sweep after its head died; its jobs are waited for (CANCEL=1: cancelled)
	@$(PY) -m trajkit sweep-resume $(if $(filter-out 0,$(CANCEL)),--cancel)

assess: $(ENV) ## before any method: who is exposed in DATA=my.yaml, what methods would lose, what to take (K=5 TOLERANCE=0.3) -> outputs/assess/
	@$(PY) -m trajkit assess $(GIVEN) $(if $(K),--k "$(K)") $(if $(TOLERANCE),--tolerance "$(TOLERANCE)")

dpia: $(ENV) ## record of risks before and after: METHOD=... DATA=my.yaml PURPOSE="..." EPSILON=1 (or PARAMS=file, K=5) -> outputs/assess/
	@test -n "$(METHOD)" || { echo "trajkit: say METHOD=..."; exit 2; }
	@$(PY) -m trajkit dpia "$(METHOD)" $(LEAVE) $(if $(N),--n "$(N)") $(if $(LEDGER),--ledger "$(LEDGER)")

release: $(ENV) ## hand over: METHOD=... DATA=my.yaml OUT=folder EPSILON=1 (or PARAMS=file, K=5) CAP=4: only what may leave, budget in a ledger
	@test -n "$(METHOD)" && test -n "$(OUT)" || { echo "trajkit: say METHOD=... and OUT=..."; exit 2; }
	@$(PY) -m trajkit release "$(METHOD)" --out "$(OUT)" $(LEAVE) $(SPEND)

smoke: ## every question in its smallest form, under 2 minutes
	@for question in $(QUESTIONS); do $(MAKE) --no-print-directory $$question PROFILE=smoke || exit 1; done

test: lint ## lint, then all tests but the slow ones and those that need a browser or Slurm
	$(PY) -m pytest -n $(WORKERS) -m "not slow and not browser and not slurm"

test-browser: $(ENV) ## notebooks in JupyterLab, saved maps and reports in Chromium, without a network (Debian: apt-get install chromium) -> outputs/browser/
	TRAJKIT_BROWSER=needed $(PY) -m pytest tests/browser

test-slurm: $(ENV) ## a sweep through a real Slurm of one node, killed and resumed: root on Debian, about four minutes; else it skips with the reason
	@bash tests/slurm/install.sh
	$(PY) -m pytest -m slurm -rs tests/slurm

lint: $(ENV) ## ruff and mypy
	$(PY) -m ruff check .
	$(PY) -m mypy

nightly: lint ## everything long: all tests, every question at profile quick, benchmarks
	$(PY) -m pytest -n $(WORKERS) -m "not slurm"
	@for question in $(QUESTIONS); do $(MAKE) --no-print-directory $$question PROFILE=quick || exit 1; done
	@$(MAKE) --no-print-directory bench

bench: $(ENV) ## measured speeds, ratios and memory on one page -> outputs/bench.json
	@$(PY) -m trajkit bench

doctor: $(ENV) ## versions, kernel, accelerator, data found, and what to do about each problem
	@$(PY) -m trajkit doctor

gpu-check: $(ENV) ## compare GPU with CPU, under 8 minutes; says so where there is no GPU
	@$(PY) -m trajkit gpu-check

lab: $(ENV) ## open JupyterLab on an index of the notebooks: explore data, releases and privacy
	@settings="$$($(PY) -c 'import sys; print(sys.prefix)')/share/jupyter/lab/settings"; mkdir -p "$$settings"; \
	test -e "$$settings/overrides.json" || cp workflow/jupyter-overrides.json "$$settings/overrides.json"
	@$(PY) -m jupyterlab --notebook-dir=. --LabApp.default_url=/lab/tree/notebooks/index.ipynb

pages: $(ENV) ## the explore notebooks as pages, without code, by Voila (pip install "trajkit[pages]")
	@$(PY) -c 'import voila' 2>/dev/null || { echo 'trajkit: pages need Voila: $(PY) -m pip install "voila>=0.5.8,<0.6", then make pages again'; exit 2; }
	@echo "open localhost:8866/voila/render/index.ipynb (stop with Ctrl-C)"
	@JUPYTER_PATH=workflow/jupyter $(PY) -m voila notebooks --template=kit --no-browser --Voila.ip=127.0.0.1 --port=8866 \
	    --VoilaConfiguration.extension_denylist='["jupyterlab-jupytext"]'

lock: ## re-resolve requirements.lock and environment.yml with uv (LOCK_FLAGS=--upgrade for newer versions)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-package torch --extra test \
	    --override workflow/lock-overrides.txt --custom-compile-command 'make lock' $(LOCK_FLAGS) \
	    pyproject.toml -o requirements.lock -q
	$(PYTHON) workflow/pin_environment.py

clean: ## remove outputs and caches; data and .venv stay
	@find outputs/ -mindepth 1 ! -path outputs/.gitkeep -delete
	@rm -rf .cache .snakemake .pytest_cache .mypy_cache .ruff_cache .hypothesis build
	@find trajkit tests workflow -name __pycache__ -prune -exec rm -rf {} +
