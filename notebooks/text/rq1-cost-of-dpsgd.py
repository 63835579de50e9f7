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
# # What does DP-SGD cost a trajectory generator?
#
# A deep generator trained with DP-SGD bounds how well anybody can tell from its output whether one given trajectory was in the
# training set. The published study ("What is the Cost of Differential Privacy for Deep Learning-Based Trajectory
# Generation?", arXiv 2506.09312) says what this costs, without giving a number that can be checked. This report measures it
# for three models on one network: a diffusion model, a variational autoencoder (VAE) and a Wasserstein GAN, on the data set
# named below.
#
# **Claims under test.** C1: DP-SGD at epsilon 10 about doubles the distributional error of diffusion model and VAE. C2: on the
# smaller data set most models trained with DP-SGD become unusable. C3: the GAN is unchanged or slightly better under DP-SGD.
# C11: density and hotspots survive DP while the detail of the road network does not. Their decision rules were written down
# before any run (`params/claims.yaml`).

# %% tags=["parameters"]
study_dir = ""

# %%
from IPython.display import Markdown, display

from trajkit.study.cells import effects, label, mapped
from trajkit.study.costs import cost_table, latent_table, parameter_table
from trajkit.study.curves import against_epsilon, against_size
from trajkit.study.results import StudyResults
from trajkit.study.tables import metric_table, tidy
from trajkit.study.text import answer, limits, setting, user_level
from trajkit.viz import curves, plots

study = StudyResults(study_dir)
display(Markdown(setting(study)))

# %% [markdown]
# ## Answer

# %%
display(Markdown(answer(study)))

# %% [markdown]
# ## Design
#
# Three models, and regimes that differ in one thing at a time: **plain** (Poisson-sampled batches, no privacy), **clipped** (each
# trajectory's gradient clipped, no noise) and **private** (clipped, with the noise that epsilon 10 needs). Within a model all
# three get the same number of updates of the released network and the same expected batch; between models the budgets are
# matched in core-seconds (in updates at profile `paper`), and both stand under *Cost*. **plain-long** is the plain model trained
# to a budget of its own. **-small** means a tenth of the training set, **-n-** another size, **-epsilon-** another epsilon. Which
# of these cells are there depends on the profile.
#
# The GAN is private through its critic: DP-SGD trains the critic, every critic step is accounted, and the generator sees the
# data through the critic only. So its guarantee holds, unlike that of the published scheme (see `method-gan`).
#
# **real** publishes real training trajectories (the floor of every metric); **uniform** scatters points over the box and
# **straight** draws straight lines (the ceilings: no information about the data); **cloud** draws what a diffusion model starts
# from (normal points about the middle of the box): what does not beat it has learned nothing that the metric can see. Errors are
# rescaled so that the floor is 0 and
# the ceiling is 1, fold by fold. Seed *i* means fold *i* and root seed *i*. Intervals are 95 % intervals with the corrected
# resampled variance (Nadeau and Bengio 2003), since the folds share training data.

# %% [markdown]
# ### What went into the study, and what was dropped

# %%
tidy(study.drop_report())

# %% [markdown]
# ## Results
#
# ### Errors
#
# One figure a model.

# %%
for model in study.models if len(study.results) else []:
    display(Markdown(f"*{label(model)}*"))
    display(plots.rescaled_dots(study.results, test_ratio=study.test_ratio, cells=study.cells_of(model)))

# %% [markdown]
# The same as numbers: rescaled error (0 = real against real, 1 = no information), mean and 95 % interval.

# %%
tidy(study.summary(value="rescaled"), index=True)

# %% [markdown]
# And in the metric's own unit:

# %%
tidy(study.summary(value="value"), index=True)

# %% [markdown]
# ### What DP costs: paired differences
#
# Each fold is compared with itself. *Clipping* is clipped minus plain, *noise* is private minus clipped, *DP-SGD* is both
# together. A filled dot means that the interval excludes zero. Only SWD and JSD are primary; the others are descriptive.

# %%
for model in study.models:
    differences = study.differences(effects(model))
    if len(differences):
        display(Markdown(f"*{label(model)}*"), plots.difference_forest(differences), tidy(differences))

# %% [markdown]
# ### Against epsilon, and against the size of the training set
#
# Ablation I of the published study: epsilon 1 to 10, and no noise at all (∞: gradients are clipped, so that only the noise
# changes along the axis). Then the error at epsilon 10 against the number of training trajectories. Bars are 95 % intervals.

# %%
epsilons, sizes = against_epsilon(study), against_size(study)
absent = Markdown("This profile does not vary it, or too few runs are complete.")
display(curves.error_along(epsilons, label="epsilon") if len(epsilons) else absent)

# %%
display(curves.error_along(sizes, label="training trajectories") if len(sizes) else absent)

# %% [markdown]
# ### Fold and initialisation
#
# Standard deviation of the plain diffusion model's error over folds and seeds together, from the initialisation alone (same
# fold, other seeds), and what is left for the fold. Two repetitions estimate a standard deviation only roughly.

# %%
spread = study.variances("diffusion-plain", "diffusion-plain-init")
tidy(spread, index=True, precision=4) if "diffusion-plain-init" in set(study.complete["cell"]) else absent

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
# The loss of each model has a meaning of its own: squared error of the noise (diffusion), squared error and divergence (VAE),
# the critic's objective (GAN). A run that failed is dotted.

# %%
for model in study.models:
    display(Markdown(f"*{label(model)}*"), plots.loss_curves(study.histories(model)))

# %% [markdown]
# Latent units that the VAE uses, the fewest of all repetitions; none would mean that its posterior has collapsed.

# %%
tidy(latent_table(study), index=True) if len(latent_table(study)) else Markdown("No VAE run is complete.")

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
