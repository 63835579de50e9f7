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
# # k-anonymity of trajectories
#
# Places become cells and times become bins of a **public** grid (anchored at a public constant, never at the border of the data); consecutive
# repeats are merged. Trajectories with the same sequence of (cell, bin) form an equivalence class, and a class is released where it holds
# at least `k` distinct **users** (one commuter with k equal trips is not k people). What is rarer is suppressed.
#
# At 500 m and 30 min nearly every trip is alone, so the search is the feature: of all `cells_m` and `minutes` the finest setting is taken
# that suppresses no more than `suppression_budget`. `suppress: segments` releases the longest parts that reach k instead of dropping a
# trip; `cells: adaptive` splits squares where people are many. The method `lkc` asks less: any `known` points of a route, not the
# whole of it, are shared by k people, and single labels are taken out until that is so (LKC-privacy, k^m-anonymity).
#
# **What it promises.** Whoever knows a route finds at least k people behind it, or nobody. With `lkc` that holds for who knows at most `known`
# points of it, and no further. Not: that these k do not share a secret, that a second release adds nothing, or that the missing are not
# noticed.

# %% tags=["parameters"]
method = "k_anonymity"
dataset = "city"
data = None
dataset_settings = {"people": 200, "days": 3, "seed": 0}
unit = "trajectory"
fold = 0
train_size = None
seed = 0
length = 64
n_release = 200
parameters = {"k": 3, "cells_m": [500.0, 1000.0, 2000.0, 4000.0], "minutes": [60, 120, None]}
evaluation = {}
run_dir = ""

# %%
from trajkit.study import anonymity_panels as panels
from trajkit.study import open_run
from trajkit.viz import plots

run = open_run(
    run_dir, method=method, dataset=dataset, data=data, dataset_settings=dataset_settings, unit=unit, fold=fold,
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
# `n_release` does not count here: an anonymizer releases all that it may of its input.

# %%
release = run.release(run.fit())
release.guarantee.in_words()

# %%
for assumption in release.guarantee.assumptions:
    print("-", assumption)

# %% [markdown]
# ## What was tried
#
# Every setting, finest first, with the rounded share that it would suppress.

# %%
panels.lattice(release.report)

# %% [markdown]
# ## Who is missing
#
# Shares are rounded and strata of few people left out. That is care, no promise: a person with many trips moves a share by more than the
# rounding, and in a small set so does anybody.

# %%
panels.missing(release.report)

# %% [markdown]
# ## Looked at

# %%
plots.maps({"real (test)": run.real_panel(), "released": release.trajectories})

# %%
plots.densities({"real (test)": run.real_panel(), "released": release.trajectories})

# %% [markdown]
# ## Judged

# %%
run.evaluate(release)

# %%
print(run.finish())
