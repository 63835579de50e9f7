# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,-all
#     notebook_metadata_filter: kernelspec,jupytext,-jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Escalation: coarser, suppressed, replaced
#
# The pipeline of a data owner in three stages. **Generalise** the bulk: of public squares and time bins the finest setting is looked for, up to
# the coarsest that the use bears (`coarsest_useful_m`, `coarsest_useful_minutes`). **Suppress** the parts of trips that fewer than `k` distinct
# people share. Where more than `tolerance` of the points would be missing, **replace**: what the coarsest useful setting keeps is kept,
# and `n_made` trajectories of a DP `synthesizer` are added, each marked as made.
#
# The synthesizer sees all trajectories and not the suppressed ones alone: who is suppressed depends on the others, and so does a set of suppressed
# trajectories, so noise for one of them would promise nothing. How many are made is a public number, never the number suppressed.
#
# **What it promises.** Of kept trajectories what k-anonymity promises; of made ones, by themselves, differential privacy. Not: differential
# privacy of the whole, or of whether anything was made. A made trajectory is nobody's and adds nobody to a class.

# %% tags=["parameters"]
dataset = "city"
data = None
dataset_settings = {"people": 200, "days": 3, "seed": 0}
unit = "trajectory"
fold = 0
train_size = None
seed = 0
length = 64
n_release = 200
parameters = {"k": 3, "minutes": [60], "coarsest_useful_m": 500.0, "coarsest_useful_minutes": 60, "cells_m": [250.0], "n_made": 200}
evaluation = {}
run_dir = ""

# %%
from trajkit.study import anonymity_panels as panels
from trajkit.study import open_run
from trajkit.viz import plots

run = open_run(
    run_dir, method="escalation", dataset=dataset, data=data, dataset_settings=dataset_settings, unit=unit, fold=fold,
    train_size=train_size, seed=seed, length=length, n_release=n_release, parameters=parameters, evaluation=evaluation,
)
run.describe()

# %% [markdown]
# ## Data

# %%
run.drop_report()

# %% [markdown]
# ## Release and guarantee
#
# `n_release` does not count here: an anonymizer releases all that it may of its input, and `n_made` says how many are made beside it.

# %%
release = run.release(run.fit())
release.guarantee.in_words()

# %%
for assumption in release.guarantee.assumptions:
    print("-", assumption)

# %% [markdown]
# ## Which stages ran, and what each left
#
# Rounded shares of true trajectories, users and points. A made trajectory brings nobody back: it gives back what many ways have in common.

# %%
panels.stages(release.report)

# %%
print(*release.report["notes"], sep="\n")

# %% [markdown]
# ## What was tried
#
# Every useful setting, finest first, with the rounded share that it would suppress.

# %%
panels.lattice(release.report)

# %% [markdown]
# ## Who is missing
#
# Of true trajectories, whatever was made. Parts of trips are suppressed, so shares of points say more than shares of trips: a trip with one
# part left counts as there. Shares are rounded and strata of few people left out. That is care, no promise.

# %%
panels.missing(release.report)

# %% [markdown]
# ## Looked at

# %%
drawn = {"real (test)": run.real_panel(), **panels.kept_and_made(release.trajectories)}
plots.maps(drawn)

# %%
plots.densities(drawn)

# %% [markdown]
# ## Judged

# %%
run.evaluate(release)

# %%
print(run.finish())
