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
# # Spatio-temporal cloaking
#
# Each place becomes a region that holds at least `k` people in its time bin. With a density of rho people a square metre, a disc of radius
# sqrt(k / (pi rho)) holds k people **on average**: often fewer. The radius at which k are there with probability `confidence` is
# larger, and even that is a model. So the count is checked: regions are public squares of doubling sides, enlarged until k people are really
# in them, and a place is left out where the largest is not enough. Their centres are released, never the true place. `space: false`
# keeps the finest squares and widens the time bins instead.
#
# **What it promises.** k people were in every released region. Not: that the regions of one trajectory, taken together, fit k people. They
# mostly fit one.

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
parameters = {"k": 3, "start": "finest"}
evaluation = {}
run_dir = ""

# %%
from trajkit.study import anonymity_panels as panels
from trajkit.study import open_run
from trajkit.viz import plots

run = open_run(
    run_dir, method="cloaking", dataset=dataset, data=data, dataset_settings=dataset_settings, unit=unit, fold=fold,
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
# ## Regions

# %%
panels.regions(release.report)

# %% [markdown]
# ## Did the radius hold k people?
#
# Computed from true places, so this is **not** covered by the guarantee: it is shown for public data sets only.

# %%
panels.held(release.report) if run.may_show_raw else "not shown: the data set is private"

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
