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
# # Flat counts: trips on a fixed grid, drawn as straight lines
#
# The simplest method that is private and not blind: a public grid of `cells` x `cells`, one noisy count for every pair of start and end
# cell, and straight lines between uniform places in the cells that are drawn. It looks at the data once, with all of epsilon and
# exact two-sided geometric noise; one trajectory is one count. All pairs get noise, also those that nobody travels; then the same
# amount is taken from every count, so that most of the noise vanishes and the total stays. The box, the grid and the number of
# released trajectories are public. What a cleverer method knows about the way between start and end shows against this.

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
parameters = {"epsilon": 1.0}
evaluation = {}
run_dir = ""

# %%
import pandas as pd

from trajkit.study import open_run
from trajkit.viz import plots

run = open_run(
    run_dir, method="flat", dataset=dataset, data=data, dataset_settings=dataset_settings, unit=unit, fold=fold,
    train_size=train_size, seed=seed, length=length, n_release=n_release, parameters=parameters, evaluation=evaluation,
)
run.describe()

# %% [markdown]
# ## Data
#
# Every step of the processing, with what it dropped and why.

# %%
run.drop_report()

# %% [markdown]
# ## Looks
#
# What the fit looked at, the share of epsilon each look took, by how much one trajectory can change it (`sensitivity`; fractions of a
# trajectory are counted in units of 1/1,048,576), and the scale of the noise in the same units. The shares add up to epsilon.

# %%
method = run.fit()
release = run.release(method)
release.guarantee.in_words()

# %%
pd.DataFrame(release.report["looks"])

# %%
{k: v for k, v in release.report.items() if k != "looks"}

# %% [markdown]
# What the guarantee takes as public.

# %%
list(release.guarantee.assumptions)

# %% [markdown]
# ## Looked at
#
# Real test trajectories (public data only) beside released ones.

# %%
plots.maps({"real (test)": run.real_panel(), "released": release.trajectories})

# %% [markdown]
# ## Judged
#
# Values in each metric's own unit. A question's report rescales them between real data and no information.

# %%
run.evaluate(release)

# %%
print(run.finish())
