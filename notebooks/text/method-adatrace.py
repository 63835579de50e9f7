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
# # AdaTrace: mobility, trips and lengths on an adaptive grid
#
# AdaTrace (Gursoy et al., CCS 2018) cuts the public box into K x K cells and the dense ones of them once more. Four things are learned
# from noisy counts: where people are, how they go from cell to cell (first order), from where to where trips lead, and how
# long they are. A trip is drawn as a start, an end and a length; of a few walks from start to end the one nearest to that length is
# taken; each of its cells becomes a point, and the walk is resampled to `length` points.
#
# It looks at the data six times with exact two-sided geometric noise, `split` says with which shares of epsilon: the number of
# trajectories (not at all where `trips` states a public number), density, steps between cells, trips between blocks of cells, starts and ends in
# cells, steps beyond the fewest possible. In the weighted looks one trajectory weighs at most 1; of the counts it changes one,
# or two (a start and an end). The box, the parameters and the number of released trajectories are public. All else is made from noisy
# counts alone. The paper's rules against particular attacks are not part of its differential privacy and are left out.

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
from trajkit.viz.cells import adaptive_cells

run = open_run(
    run_dir, method="adatrace", dataset=dataset, data=data, dataset_settings=dataset_settings, unit=unit, fold=fold,
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
# ## The grid
#
# The final cells with the noisy density by which they were cut. Nothing here is exact.

# %%
may_draw = method is not None and (release.guarantee.holds or run.may_show_raw)
adaptive_cells(method.model_.grid, method.model_.density) if may_draw else "no fitted model here (the release was read back), or nothing exact may be shown"

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
