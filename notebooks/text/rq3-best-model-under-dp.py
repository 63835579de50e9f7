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
# # Which model is best, without and with DP?
#
# The published study ("What is the Cost of Differential Privacy for Deep Learning-Based Trajectory Generation?", arXiv
# 2506.09312) finds the conditional diffusion model best without guarantees, and the GAN best on most point-level metrics under
# DP-SGD. That comparison has two faults: the private GAN got five times the generator updates of the plain one, and the noise was
# added to its generator alone, which promises nothing to the people in the data. This report compares a diffusion model, a
# variational autoencoder (VAE) and a Wasserstein GAN whose guarantees hold, with matched budgets, and shows the published
# protocol beside. A model that is given a condition to follow is a contestant of its own: question 2 says what a condition is and
# what it gives away.
#
# **Claims under test.** C3: the GAN is unchanged or slightly better under DP-SGD. C5: without guarantees the conditional diffusion
# model is best; under DP-SGD the GAN is best on most point-level metrics. C11: density and hotspots survive DP while the detail
# of the road network does not. Their decision rules were written down before any run (`params/claims.yaml`).

# %% tags=["parameters"]
study_dir = ""

# %%
from IPython.display import Markdown, display

from trajkit.study import ranking, ranking_text
from trajkit.study.cells import CONTESTANTS, label, mapped
from trajkit.study.costs import cost_table, parameter_table
from trajkit.study.results import PRIMARY, StudyResults
from trajkit.study.tables import metric_table, tidy
from trajkit.study.text import limits, setting, user_level
from trajkit.viz import plots, ranks

study = StudyResults(study_dir)
settings, tests = ranking_text.comparisons(study), ranking_text.tests_of(study)
display(Markdown(setting(study)))

# %% [markdown]
# ## Answer

# %%
display(Markdown(ranking_text.answer(study)))

# %%
picked = ranking_text.pick_table(study)
tidy(picked) if len(picked) else Markdown("Nothing can be picked yet.")

# %% [markdown]
# ## Design
#
# A *setting* is one regime under one protocol. Regimes: **plain, own budget** (each model as good as it gets here), **plain** and
# **private** at one budget a model, and where the profile has them **clipped**, **epsilon 1** and **a tenth of the data**.
# Protocols: under the **matched** one the regimes of a model get the same updates of the released network, and the models are
# matched in core-seconds (in updates at profile `paper`); the private GAN is private through its critic, and its guarantee
# holds. Under the **published** one the GAN is trained as published: five critic steps a generator update without DP, one with
# it, noise in the generator's gradients; so the private GAN gets five times the generator updates from as many batches of
# records. The other models have no critic, so their runs are the same under both.
#
# **Conditional** models follow held-out real trajectories: *sample* as they are, *sample + Gaussian* made private at epsilon_c 20
# first. They train on the rest of the training set, so on fewer trajectories. With DP-SGD alone their guarantee does not hold,
# since the conditioning set is unprotected; with both it does, for both sets.
#
# The pick of a setting has the lowest rescaled error, averaged over the primary metrics SWD and JSD; where privacy is asked for,
# only contestants whose guarantee holds can be picked. They are compared fold by fold, with the corrected resampled t-test (Nadeau
# and Bengio 2003), adjusted by Holm over the primary metrics and the pairs of contestants of a setting. Errors are rescaled so that
# real data scores 0 and no information scores 1, fold by fold.

# %% [markdown]
# ### What went into the study, and what was dropped

# %%
tidy(study.drop_report())

# %% [markdown]
# ## Results
#
# ### Errors
#
# Rescaled error on the primary metrics with its 95 % interval.

# %%
known = study.test_ratio is not None
errors = ranking.errors(study.results, settings, metrics=PRIMARY, test_ratio=study.test_ratio) if known else study.summary()
tidy(errors.rename(columns=label), index=True)

# %% [markdown]
# ### Ranks
#
# Rank 1 has the lowest mean error over the folds that every contestant completed. A rank says nothing about how large a difference
# is, or how sure: the tests below do, for the primary metrics (bold), and for them alone.

# %%
table = ranking.rank_table(study.results, settings)
display(ranks.rank_plot(table, primary=PRIMARY) if len(table) else Markdown("No setting has two models with complete runs."))

# %% [markdown]
# Mean rank over the metrics of a level:

# %%
tidy(ranking.mean_ranks(table).rename(columns=label), index=True, precision=2)

# %% [markdown]
# ### Tests between models
#
# Mean of the paired difference a - b in rescaled error, with its 95 % interval and the p-value before and after Holm.

# %%
tidy(tests.replace(CONTESTANTS))

# %% [markdown]
# ### All metrics
#
# Rescaled error, mean and 95 % interval; the cells of one model stand together.

# %%
tidy(study.summary(value="rescaled"), index=True)

# %% [markdown]
# ### Maps
#
# Real test trajectories and released ones, drawn alike; below, where the points lie.

# %%
panels = study.panels(mapped(study.runs["cell"]))
display(plots.maps(panels, segments=study.road_segments()))

# %%
display(plots.densities(panels))

# %% [markdown]
# ### Training
#
# The losses of different models cannot be compared. A run that failed is dotted.

# %%
for model in study.models:
    display(Markdown(f"*{label(model)}*"), plots.loss_curves(study.histories(model)))

# %% [markdown]
# ## Guarantees
#
# What each release promises, and why where it promises nothing. Every line is read from the `guarantee.json` that the run
# wrote; epsilon is the larger of two accountants that must agree.

# %%
tidy(study.guarantees(), index=True)

# %%
display(Markdown(user_level(study)))

# %% [markdown]
# ## Verdicts

# %%
tidy(study.verdict_table())

# %% [markdown]
# ## Runs that failed

# %%
tidy(study.holes()) if len(study.holes()) else Markdown("None: every planned run is complete.")

# %% [markdown]
# ## Parameters and cost
#
# Parameters of the network that is released, and of what is trained beside it and thrown away (the GAN's critic, the VAE's
# encoder). Core-seconds are the seconds of the training on one thread; a critic update draws one batch of records.

# %%
tidy(parameter_table(study))

# %%
tidy(cost_table(study), index=True, precision=1)

# %% [markdown]
# ## Metrics
#
# What each of them measures. All are errors: lower is better.

# %%
tidy(metric_table())

# %% [markdown]
# ## Limits

# %%
display(Markdown(limits(study)))

# %%
print("report complete")
