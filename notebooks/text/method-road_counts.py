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
# # Trip counts on a public road map
#
# Where the streets run is public; what is private is who goes where, when and which way. So only that is counted, with noise: trips
# between start and end cells on a hierarchy that is fine where many travel (with the hour band of departure), starts and ends on a fine grid, density,
# and a few habits (detours, hours, speeds, and whether people leave the map). Trips are drawn from the counts and driven on the map;
# what an edge seems to cost, and how widely opinions about that differ, is fitted to the noisy counts, which costs no privacy.
#
# **Privacy.** Every look is pure DP with two-sided geometric noise, drawn exactly, and they add up to epsilon. Empty cells get noise like
# others. `trips_per_user` bounds what one user adds and makes the user the unit. `map` is the data set's public road network
# ("dataset"), a file of your own, or a "lattice" where there is no map; the guarantee names it.
#
# **When not to use it.** Where people leave the streets (walkers, parks) their ways are drawn on streets all the same: the report
# warns, from a noisy count, when many do.

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
parameters = {"epsilon": 5.0}
evaluation = {}
run_dir = ""

# %%
import pandas as pd

from trajkit.study import open_run
from trajkit.viz import plots

run = open_run(
    run_dir, method="road_counts", dataset=dataset, data=data, dataset_settings=dataset_settings, unit=unit, fold=fold,
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

# %% [markdown]
# Every look and its share of epsilon (`sensitivity`: how much one trajectory can change it; shares of a trajectory count in units of 1/1,048,576):

# %%
pd.DataFrame(release.guarantee.parts[0].details["looks"]) if release.guarantee.parts else "no looks"

# %%
list(release.guarantee.assumptions)

# %%
release.report

# %% [markdown]
# ## Looked at

# %%
segments = None if run.roads is None else run.roads.segments()
plots.maps({"real (test)": run.real_panel(), "released": release.trajectories}, segments=segments)

# %% [markdown]
# ## Judged

# %%
run.evaluate(release)

# %%
print(run.finish())
