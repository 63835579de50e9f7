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
# # Anonymity or differential privacy?
#
# Data owners reach for k-anonymity first. The practitioner's guide to trajectory anonymization says that four known points isolate 95 % of
# people and that k-anonymity answers this; what is left to find out is what such a release is still good for, and what can still be found
# in it. This report puts k-anonymity, (k, delta)-anonymity, cloaking and LKC-privacy on the same axes as releases with differential
# privacy: **utility** by the same metrics, and **risk** by the same attacks.

# %% tags=["parameters"]
study_dir = ""

# %%
from IPython.display import Markdown, display

from trajkit.attacks.adversaries import ADVERSARIES
from trajkit.study import anonymity_text as text
from trajkit.study.adversaries import adversary_panel, adversary_table, countermeasures, untried
from trajkit.study.costs import cost_table
from trajkit.study.decisions import decisions
from trajkit.study.results import StudyResults
from trajkit.study.risk import risk_table
from trajkit.study.tables import metric_table, tidy
from trajkit.study.text import limits, setting
from trajkit.study.two_releases import two_releases
from trajkit.viz import adversaries, frontier, plots

study = StudyResults(study_dir)
NOTHING = Markdown("Not shown: no run is complete, the data set is private, or it lacks what is needed (times, people who come back).")
display(Markdown(setting(study)))

# %% [markdown]
# ## Answer

# %%
display(Markdown(text.answer(study)))

# %%
along = text.frontier_table(study)
display(frontier.frontier(along) if len(along) else NOTHING)

# %% [markdown]
# *Where it is drawn, left is useful and low is safe.* The height is what one attack by four known points achieves, and **no epsilon**: a release with a DP promise
# keeps it against every attack, an anonymous one against those that its definition names.

# %%
uses = decisions(study)
tidy(uses) if len(study.results) else NOTHING

# %% [markdown]
# ## Design
#
# Folds are drawn by user. The attack takes four points of a trajectory and looks for the nearest released one; *AUC* is the probability that a
# person of the training set lies nearer to the release than a person held out. *By places alone* drops all times, so that all releases
# can be compared; *all fields* uses times of the day where they are released. Where the private map from released to real trajectories is known,
# *named* is the probability of naming the target, against 1 / k.
#
# *member auc* is membership inference by somebody who knows two whole trips of a person (or the only one), without times, and looks for the nearest released path:
# the probability that a person of the training set comes out nearer than one held out. *members found at 1 % false* is the share of the
# training set's people whom he names where he takes one in a hundred of the others for a member by mistake; a guess finds 1 %. The real
# trajectories, which hold these very trips, are found at once. Both stand with 95 % intervals in the rows by places alone; with fewer than a hundred people held out, 1 % means not one
# mistake, and a guess finds more than 1 % (its share stands beside it). The average over people certifies nothing, and a release in which it finds nobody may still give away one who lives apart.
#
# Suppressed people count among the members: they are hidden, and they are missing. A release that says nothing does not win: *trips by hour* spreads a release
# without times evenly over the day, *places never visited* is the share of real points where no released point lies (32 x 32 cells).

# %% [markdown]
# ### What went into the study, and what was dropped

# %%
tidy(study.drop_report())

# %% [markdown]
# ## Results
#
# ### How many people are alone with a few known points?

# %%
alone = study.unicity
display(frontier.unicity(alone) if len(alone) else NOTHING)

# %% [markdown]
# ### How coarse must cells and bins be?
#
# Every setting that k-anonymity tried, finest first, with the rounded shares that it suppresses.

# %%
tidy(text.lattice_table(study)) if len(text.lattice_table(study)) else NOTHING

# %% [markdown]
# ### Utility

# %%
utility = text.utility_table(study)
tidy(utility) if len(utility) else NOTHING

# %% [markdown]
# ### Risk

# %%
risk = risk_table(study)
tidy(risk.drop(columns=["cell", "kind"])) if len(risk) else NOTHING

# %% [markdown]
# ### Adversaries with a street map, and with time
#
# Four known points are not all that somebody may have. He knows the method, its parameters, the printed setting and the street map, and tries
#
# - **streets**: to rebuild what was driven (map matching), and to tell by it whom the released trajectory may be of. *Named by places* counts everybody who
#   fits the released places, *named by streets* those of them whose streets agree with the rebuilt ones as well;
# - **parts**: which trip (or part of one) goes on as which other one of the same person, where ends and beginnings lie near each other;
# - **homes**: where people spend nights and working hours, in trips that share a name or were linked; found means within 200 m;
# - **points**: where somebody really was, from points that were moved at random.
#
# Real trips under new names and noise on every point are there for comparison: they are published often and promise nothing. Where nobody
# knows the streets or homes (any data but the simulated city), the truth is what the same attack makes of the raw data, and what promises nothing reaches it by construction.

# %%
found = adversary_table(study)
display(adversaries.adversaries(found) if found["value"].notna().any() else NOTHING)

# %%
for adversary in ADVERSARIES:
    panel = adversary_panel(found, adversary)
    display(Markdown(f"**{adversary}**"), tidy(panel) if len(panel) else NOTHING, Markdown(untried(found, adversary)))

# %% [markdown]
# **A countermeasure that does not work.** The training set as cells alone (no k), printed at the middle of the cell, at a random place of it, or at a junction in it.
# An adversary who takes the printed place for where somebody was is misled; one who knows the cells, which are public, puts it back and loses nothing. Larger cells help.

# %%
tried = countermeasures(study)
tidy(tried) if len(tried) else NOTHING

# %% [markdown]
# ### Two releases of the same people
#
# The training set cut at its median start, each half k-anonymous by itself (k = 5, squares of 2 km, no times). The adversary knows some
# points of the target in each half. 1 / k bounds what he finds in one release; where names persist he joins the two, and nothing bounds that.
# With names drawn afresh there is nothing to join.

# %%
joined = two_releases(study)
tidy(joined) if len(joined) else NOTHING

# %% [markdown]
# ### Who is missing
#
# Rounded shares of trajectories that are not in the release, by travelled length and by hour of the start.

# %%
by_length = text.missing_by(study, "by length")
tidy(by_length, index=True, precision=2) if len(by_length) else NOTHING

# %%
by_hour = text.missing_by(study, "by local hour")
tidy(by_hour, index=True, precision=2) if len(by_hour) else NOTHING

# %% [markdown]
# ### Maps

# %%
panels = text.shown(study)
display(plots.maps(panels, segments=study.road_segments()))

# %%
display(plots.densities(panels))

# %% [markdown]
# ## Guarantees

# %%
tidy(study.guarantees(), index=True)

# %% [markdown]
# ## Cost

# %%
tidy(cost_table(study), index=True, precision=1)

# %% [markdown]
# ## Verdicts

# %%
tidy(study.verdict_table())

# %% [markdown]
# ## Runs that failed

# %%
tidy(study.holes()) if len(study.holes()) else Markdown("None: every planned run is complete.")

# %% [markdown]
# ## Metrics

# %%
tidy(metric_table())

# %% [markdown]
# ## Limits
#
# - An attack that finds nothing proves nothing: these adversaries are some of many. Shadow models see more (question 4).
# - Map matching counts who fits by everybody's true trips, as an adversary would who has them all; places alone, without times.
# - DP here protects single trajectories, anonymity counts users: a person with many trips is protected less by the former than its epsilon says.
# - People of the simulated city repeat their trips every day, which makes classes large; people who travel less regularly are suppressed more.

# %%
display(Markdown(limits(study)))

# %%
print("report complete")
