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
# # trajkit: what is where
#
# How can trajectories of people be published without telling on anybody, and what does that cost? Each notebook below runs from top to bottom
# (*Run > Run All Cells*), without a network.
#
# ## Three questions, a minute each
#
# | question | where | what to do |
# |---|---|---|
# | Where does the private model lose roads? | [explore-runs](explore-runs.ipynb) | look at the orange streets, then move *epsilon* |
# | What does epsilon 10 mean per user? | [explore-privacy](explore-privacy.ipynb) | budget planner: set epsilon to 10 and read the line *per user* |
# | How does suppression grow with k? | [explore-privacy](explore-privacy.ipynb) | k-anonymity: move *k* |
#
# ## In the order a newcomer needs
#
# 1. [explore-data](explore-data.ipynb): a data set: where and when people move, and how few known places single somebody out.
# 2. [explore-runs](explore-runs.ipynb): releases: real beside released, errors, guarantee.
# 3. [explore-privacy](explore-privacy.ipynb): what the numbers of a guarantee mean, and what attacks find.
# 4. The seven questions. `make rq1` in a terminal runs one and writes `outputs/rq1/.../report.html`; the notebooks hold their reasoning:
#    [1 what DP-SGD costs](rq1-cost-of-dpsgd.ipynb), [2 private conditions](rq2-private-conditioning.ipynb),
#    [3 the best model](rq3-best-model-under-dp.ipynb), [4 does the guarantee hold](rq4-does-the-guarantee-hold.ipynb),
#    [5 deep or classical](rq5-deep-or-classical.ipynb), [6 anonymity or DP](rq6-anonymity-or-dp.ipynb),
#    [7 what would we publish](rq7-what-would-we-publish.ipynb).
# 5. One method each, small enough to play with: [noisy prefix tree](method-prefix_tree.ipynb), [PrivTrace](method-privtrace.ipynb),
#    [AdaTrace](method-adatrace.ipynb), [flat counts](method-flat.ipynb), [road counts](method-road_counts.ipynb),
#    [Private Evolution](method-private_evolution.ipynb), [diffusion](method-diffusion.ipynb), [VAE](method-vae.ipynb), [GAN](method-gan.ipynb),
#    [k-anonymity](method-k-anonymity.ipynb), [(k, delta)-anonymity](method-k-delta.ipynb), [cloaking](method-cloaking.ipynb),
#    [escalation](method-escalation.ipynb); and [no information](method-uniform.ipynb), the other end of the scale.
#
# ## Your own data
#
# `make assess DATA=my.yaml` says who is exposed and what to take; `make release` hands over what may leave. See the README.

# %% tags=["parameters"]
newest = 5

# %% [markdown]
# ## Reports that are there

# %%
from trajkit.explore.reports import reports

reports(newest)
