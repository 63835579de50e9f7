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
# # Private Evolution: candidates of a public simulator, chosen by noisy votes
#
# A public generator draws candidates: trips between uniform places of the box, straight or with one bend. In each of `rounds` rounds every
# training trajectory votes for the candidate nearest to it (a few points of the way, the ends counting more). The histogram of votes
# gets Gaussian noise, on every candidate, voted for or not. Candidates drawn by their noisy votes stay, and variations of them, smaller
# from round to round, take the places of the others. What is released are variations of the last population, in proportion to its noisy
# votes. One trajectory is one vote a round, and all rounds together spend epsilon at delta. Box, generator, embedding and all parameters are
# public; nothing else about the data is used, so what this method reaches, noisy votes and straight lines suffice for. A small set like the
# one below needs a small population: votes spread over many candidates drown in the noise.

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
parameters = {"epsilon": 10.0, "population": 200}
evaluation = {}
run_dir = ""

# %%
import pandas as pd

from trajkit.study import open_run
from trajkit.viz import plots
from trajkit.viz.votes import noisy_votes

run = open_run(
    run_dir, method="private_evolution", dataset=dataset, data=data, dataset_settings=dataset_settings, unit=unit, fold=fold,
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
# ## Votes
#
# Each round is one look at the data. All of them have the same noise, whose standard deviation `sigma` is made for the whole of them.

# %%
method = run.fit()
release = run.release(method)
release.guarantee.in_words()

# %%
pd.DataFrame(release.report["rounds"]).drop(columns=["rank", "noisy votes"])

# %% [markdown]
# Noisy votes by rank, a line a round; the grey band is one standard deviation of the noise. In the first round few random candidates lie
# near the data and get many votes; later the votes are spread more evenly over more candidates that came to lie there. All of it is noisy
# and covered by the guarantee.

# %%
noisy_votes(release.report)

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
