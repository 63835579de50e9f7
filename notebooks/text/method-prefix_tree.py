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
# # Noisy prefix tree
#
# Chen, Fung and Desai (2011, arXiv:1112.2020) publish sequences by a tree of noisy counts: the nodes of level *i* are prefixes of
# length *i*, each with the number of trajectories that begin so, plus noise. Every child of a kept node is looked at, whether
# anybody went there or not; it is kept where its noisy count reaches a threshold. From the tree consistent counts are inferred, and
# as many copies of each prefix are released as trajectories end there.
#
# Here a trajectory becomes a sequence of cells of a public grid. `sampling: waypoints` (the default) takes `height` places along the
# way, both ends first; `sampling: prefix` the first cells, as published. Released cells become uniform places in them.
#
# **Privacy.** A trajectory is counted in one node a level, so each of the `height` levels costs epsilon / `height`; noise is
# two-sided geometric and drawn exactly. Grid and height are public. With the published threshold (`threshold: published`) the tree
# grows without bound beyond 33 cells, and the kit refuses; the default, `subcritical`, lets a node have half a child by noise alone.

# %% tags=["parameters"]
dataset = "city"
data = None
dataset_settings = {"people": 120, "days": 3, "seed": 0}
unit = "trajectory"
fold = 0
train_size = None
seed = 0
length = 64
n_release = 200
parameters = {"epsilon": 5.0, "cells": 6, "height": 3}
evaluation = {}
run_dir = ""

# %%
import pandas as pd

from trajkit.study import open_run
from trajkit.viz import plots, sequences

run = open_run(
    run_dir, method="prefix_tree", dataset=dataset, data=data, dataset_settings=dataset_settings, unit=unit, fold=fold,
    train_size=train_size, seed=seed, length=length, n_release=n_release, parameters=parameters, evaluation=evaluation,
)
run.describe()

# %% [markdown]
# ## Data

# %%
run.drop_report()

# %% [markdown]
# ## Release and guarantee

# %%
release = run.release(run.fit())
release.guarantee.in_words()

# %%
{k: v for k, v in release.report.items() if k != "not covered by the guarantee"}

# %% [markdown]
# ## Signal and noise, level by level
#
# Computed with the true counts, so this figure is **not private**: it is drawn for public data sets only.

# %%
levels = pd.DataFrame(release.report["not covered by the guarantee"]["levels"])
sequences.level_masses(levels) if run.may_show_raw else "not shown: the data set is private"

# %% [markdown]
# ## Looked at

# %%
plots.maps({"real (test)": run.real_panel(), "released": release.trajectories})

# %% [markdown]
# ## Judged

# %%
run.evaluate(release)

# %%
print(run.finish())
