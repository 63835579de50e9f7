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
# # (k, delta)-anonymity
#
# Abul, Bonchi and Nanni (2008): groups of at least `k` people who are within `delta_m` metres of each other **at every time**. Times are
# aligned to a public step, trajectories of one time span are grouped around pivots, what fits no group is left out (`trash`), and members
# are moved together: all onto the centre line of their group (`edit: centre`), or no further than needed (`edit: translate`).
# `interval_s: null` compares places along the way instead, for sets without times.
#
# Pairwise distance is what is enforced. A disc of radius delta / 2 around a group is more than that, one of radius delta much less: the
# report gives the largest distance of two members and the radius of the smallest disc.
#
# **What it promises.** Within delta, k people are alike. For delta above 0 that is no k-anonymity against who knows places better than
# delta (Trujillo-Rasua and Domingo-Ferrer 2013).

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
parameters = {"k": 3, "delta_m": 500.0}
evaluation = {}
run_dir = ""

# %%
from trajkit.study import anonymity_panels as panels
from trajkit.study import open_run
from trajkit.viz import plots

run = open_run(
    run_dir, method="k_delta", dataset=dataset, data=data, dataset_settings=dataset_settings, unit=unit, fold=fold,
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
# ## Groups

# %%
panels.figures(release.report)

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
