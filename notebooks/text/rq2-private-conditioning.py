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
# # What does a private condition add?
#
# A conditional generator is given something to follow: a whole real trajectory, or eight numbers that describe one. The published
# study ("What is the Cost of Differential Privacy for Deep Learning-Based Trajectory Generation?", arXiv 2506.09312) makes such a
# condition differentially private by a mechanism of its own, beside DP-SGD for the training set, and finds that this steadies
# training. This report measures what a condition brings, what the mechanism leaves of it, what an unprotected one gives away,
# and whether the formula for the Gaussian noise is right.
#
# **Claims under test.** C4: the DP conditional mechanism stabilises training, together with DP-SGD and on small data. C7: the
# Gaussian noise of Theorem 2 is what its guarantee needs, against which the public review has an objection. Their decision rules
# were written down before any run (`params/claims.yaml`). Which model is best is asked by question 3.

# %% tags=["parameters"]
study_dir = ""

# %%
from IPython.display import Markdown, display

from trajkit.study import conditioning, conditioning_text, embedding_ablation, rule_calibration, stability, theorem_2_text, threat
from trajkit.study.cells import mapped
from trajkit.study.costs import cost_table, parameter_table
from trajkit.study.results import StudyResults
from trajkit.study.tables import metric_table, tidy
from trajkit.study.text import limits, setting, user_level
from trajkit.viz import curves, mechanisms, plots
from trajkit.viz.stability import stability_figure
from trajkit.viz.threat import threat_figure

study = StudyResults(study_dir)
absent = Markdown("This profile does not have it, or too few runs are complete.")
display(Markdown(setting(study)))

# %% [markdown]
# ## Answer

# %%
display(Markdown(conditioning_text.answer(study)))

# %% [markdown]
# ## Design
#
# **Types of condition.** None; *attributes* (eight statistics of a real trajectory); *sample* (a whole real trajectory, compressed);
# and *sample* with one of three mechanisms, *Laplace*, *Gaussian* or *VMF* (von Mises and Fisher: a random direction about the
# true one). Attributes with a mechanism are an extra. Each comes *plain* and *private* (with DP-SGD at epsilon 10). Which of these
# cells are there depends on the profile.
#
# **The mechanism**, in five steps: (1) draw the conditioning trajectories, as many as are to be released, from a set of their own
# that the model is not trained on; (2) compress each to `d_out` numbers by one linear layer; (3) bound the norm of each vector, so
# that replacing one trajectory moves one vector by at most twice that, whatever the layer has learned; (4) add noise for
# epsilon_c; (5) decompress to the size of the network's embedding. In training the private vector replaces the true one little by
# little; generation uses the private one only. No amplification by sampling is claimed.
#
# **Two sets, two guarantees.** The training set is protected by DP-SGD (adding or removing a trajectory, epsilon 10), the
# conditioning set by the mechanism (replacing a trajectory, epsilon_c 20). Neither protects the other set, so a release keeps
# its promise to everybody only where both are in place. The **threat model** of a cell says which set is protected:

# %%
tidy(threat.meanings())

# %% [markdown]
# Baselines, error scale and intervals are those of question 1: *real* scores 0 and no information (*uniform*, *straight*) scores 1,
# fold by fold; intervals are 95 % intervals with the corrected resampled variance (Nadeau and Bengio 2003). SWD and JSD are
# primary, the other metrics are descriptive. Cells named *-tiny* are many seeds of a small training; they are looked at under
# *Stability* alone.
#
# ### What went into the study, and what was dropped

# %%
tidy(study.drop_report())

# %% [markdown]
# ## Results
#
# ### Errors by threat model
#
# SWD of every cell, grouped by whose data an attacker is kept from. A condition without noise beside DP-SGD protects the training
# set only; a private condition without DP-SGD protects the conditioning set only.

# %%
by_threat = threat.by_threat_model(study)
display(threat_figure(by_threat) if len(by_threat) else absent)

# %%
tidy(by_threat)

# %% [markdown]
# ### What a condition changes: paired differences
#
# Conditional minus unconditional, each fold compared with itself, in rescaled error.

# %%
changes = study.differences(conditioning.comparisons(study), metrics=("SWD", "JSD", "TTD", "TD", "TE", "NHD", "DTW"))
tidy(changes) if len(changes) else absent

# %% [markdown]
# ### All metrics
#
# Rescaled error, mean and 95 % interval.

# %%
tidy(study.summary(value="rescaled"), index=True)

# %% [markdown]
# ### Signal kept
#
# Mean cosine between a compressed condition and its private version, over the released trajectories, beside the value that theory
# predicts for these very vectors. Both are computed from the conditioning set and covered by no guarantee.

# %%
signal = conditioning.signal_table(study)
tidy(signal) if len(signal) else absent

# %% [markdown]
# ### Ablations
#
# Error of the private models against epsilon_c (`d_out` 8) and against `d_out` (epsilon_c 20), a line a mechanism.

# %%
along_epsilon, along_size = (conditioning.against_condition(study, name) for name in ("epsilon_c", "d_out"))
display(curves.error_along(along_epsilon, label="epsilon_c") if len(along_epsilon) else absent)

# %%
display(curves.error_along(along_size, label="d_out") if len(along_size) else absent)

# %% [markdown]
# **The embedding alone.** The same mechanisms on random unit vectors, before any network. Above, the mean cosine (lines: theory,
# dots: measured, bars of two standard errors); below, how often the private version is still nearest to its own vector among
# 200, which is what an attacker who knows the candidates would find (grey: chance).

# %%
alone = embedding_ablation.embedding_ablation()
display(Markdown(embedding_ablation.in_words(alone)), mechanisms.signal_kept(alone))

# %%
tidy(alone)

# %% [markdown]
# ### Stability
#
# Many seeds of a small training (a tenth of the training set, a few steps, a small network). A run has failed when its loss is
# no number or all its samples are one. A spike is a loss above the median of the 20 before it by more than six (scaled) median
# deviations. Each dot is a run, hollow where its loss spiked; the bar is the median.

# %%
small = stability.stability_runs(study)
display(stability_figure(small) if len(small) else absent)

# %%
tidy(stability.stability_table(study), index=True)

# %% [markdown]
# ## Theorem 2: how much Gaussian noise?
#
# This section needs no run: it compares a formula with the value that it is to give.

# %%
readings = rule_calibration.readings_table()
display(Markdown(theorem_2_text.theorem_2_in_words(readings)), mechanisms.readings_figure(readings))

# %%
tidy(theorem_2_text.shown(readings), precision=4)

# %% [markdown]
# ## Leak check
#
# Each released trajectory against the conditioning trajectory that it follows. *ratio*: median distance to its own over the median
# distance to an unrelated one (1: no closer). *found*: share of releases whose own condition is the nearest among 100, beside what
# chance would give. No guarantee covers these figures: they were computed from the conditioning set.

# %%
leaks = conditioning.leak_table(study)
tidy(leaks) if len(leaks) else absent

# %% [markdown]
# ### Maps
#
# Real test trajectories and those that the first model released, drawn alike.

# %%
own = [c for c in mapped(study.runs["cell"]) if study.models and c.startswith(f"{study.models[0]}-")]
panels = study.panels(own)
display(plots.maps(panels, segments=study.road_segments()))

# %% [markdown]
# ## Guarantees
#
# What each release promises, and why where it promises nothing. Every line is read from the `guarantee.json` that the run wrote. A
# guarantee holds only where both sets are protected, or where there is no condition; *in words* says what holds where it does not.

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
# ### Cost of conditioning
#
# Core-seconds of training, peak memory and parameters of the released network, and how much more than without a condition.

# %%
overhead = conditioning.overhead_table(study)
tidy(overhead, index=True, precision=1) if len(overhead) else absent

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
display(Markdown(limits(study) + "\n" + conditioning_text.limits(study)))

# %%
print("report complete")
