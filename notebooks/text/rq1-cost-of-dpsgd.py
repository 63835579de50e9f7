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
# for the diffusion model, on the data set named below.
#
# **Claims under test.** C1: DP-SGD at epsilon 10 about doubles the distributional error. C2: on the smaller data set the
# model trained with DP-SGD becomes unusable. Their decision rules were written down before any run (`params/claims.yaml`).

# %% tags=["parameters"]
study_dir = ""

# %%
from IPython.display import Markdown, display

from trajkit.study.results import StudyResults
from trajkit.study.tables import metric_table, tidy
from trajkit.study.text import answer, limits, setting, user_level
from trajkit.viz import plots

study = StudyResults(study_dir)
display(Markdown(setting(study)))

# %% [markdown]
# ## Answer

# %%
display(Markdown(answer(study)))

# %% [markdown]
# ## Design
#
# One diffusion model, three regimes that differ in one thing at a time: **plain** (Poisson-sampled batches, no privacy),
# **clipped** (each trajectory's gradient clipped, no noise) and **private** (clipped, with the noise that epsilon 10 needs). All
# three get the same number of updates and the same expected batch. **plain-long** is the plain model trained to a budget of its
# own; **private-small** and **plain-small** see a small training set. **real** publishes real training trajectories (the floor
# of every metric); **uniform** scatters points over the box and **straight** draws straight lines (the ceilings: no information
# about the data); **cloud** draws what a diffusion model starts from (normal points about the middle of the box): what does not
# beat it has learned nothing that the metric can see. Errors are rescaled so that the floor is 0 and the ceiling is 1, fold by fold.
#
# Seed *i* means fold *i* and root seed *i*. Intervals are 95 % intervals with the corrected resampled variance (Nadeau and
# Bengio 2003), since the folds share training data.

# %% [markdown]
# ### What went into the study, and what was dropped

# %%
tidy(study.drop_report())

# %% [markdown]
# ## Results
#
# ### Errors

# %%
cells = [c for c in dict.fromkeys(study.runs["cell"]) if c not in ("real", "uniform", "straight", "cloud", "plain-init")]
if len(study.results):
    display(plots.rescaled_dots(study.results, test_ratio=study.test_ratio, cells=cells))

# %% [markdown]
# The same as numbers: rescaled error (0 = real against real, 1 = no information), mean and 95 % interval.

# %%
tidy(study.summary(value="rescaled").T, index=True)

# %% [markdown]
# And in the metric's own unit:

# %%
tidy(study.summary(value="value").T, index=True)

# %% [markdown]
# ### What DP costs: paired differences
#
# Each fold is compared with itself. *Clipping* is clipped minus plain, *noise* is private minus clipped, *DP-SGD* is both
# together. A filled dot means that the interval excludes zero. Only SWD and JSD are primary; the others are descriptive.

# %%
effects = [("clipping", "clipped", "plain"), ("noise", "private", "clipped"), ("DP-SGD in all", "private", "plain")]
differences = study.differences(effects)
if len(differences):
    display(plots.difference_forest(differences))

# %%
tidy(differences)

# %% [markdown]
# ### Fold and initialisation
#
# Standard deviation of the plain model's error over folds and seeds together, from the initialisation alone (same fold, other
# seeds), and what is left for the fold. Three repetitions estimate a standard deviation only roughly.

# %%
tidy(study.variances("plain", "plain-init"), index=True, precision=4)

# %% [markdown]
# ### Maps
#
# Real test trajectories and released ones, drawn alike; below, where the points lie.

# %%
real = study.real_panel()
panels = {"real (test)": real, **{c: study.released(c) for c in cells if study.released(c) is not None}}
display(plots.maps(panels, segments=study.road_segments()))

# %%
display(plots.densities(panels))

# %% [markdown]
# ### Training

# %%
display(plots.loss_curves({c: study.history(c) for c in cells}))

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
# ## Cost

# %%
tidy(study.cost(), index=True, precision=1)

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
