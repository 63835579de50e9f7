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
# # What would we publish?
#
# The published studies ask how well a generator can imitate trajectories from noise alone. But the street map is public knowledge:
# what is private is who goes where, when and which way. This report puts every method of the kit on the same axes at epsilon 10, 3, 1
# and 0.3, two of them new: **trip counts on the public road map** (noisy counts of trips on an adaptive hierarchy, route choice
# fitted to noisy density, trips drawn on the map) and **Private Evolution** (Lin et al. 2023: candidates from a public generator that
# private trajectories vote for). It says which release we would publish at each epsilon, what privacy costs it, and where it fails.

# %% tags=["parameters"]
study_dir = ""

# %%
from IPython.display import Markdown, display

from trajkit.study import publish_text, ranking
from trajkit.study.cells import label
from trajkit.study.classical_text import composition_table
from trajkit.study.costs import cost_table
from trajkit.study.curves import against_epsilon, against_size
from trajkit.study.realism import realism_table
from trajkit.study.results import PRIMARY, StudyResults
from trajkit.study.tables import metric_table, tidy
from trajkit.study.text import limits, setting
from trajkit.viz import curves, plots, ranks

study = StudyResults(study_dir)
settings = publish_text.settings(study)
display(Markdown(setting(study)))

# %% [markdown]
# ## Answer

# %%
display(Markdown(publish_text.answer(study)))

# %%
cost = publish_text.cost_of_privacy(study)
tidy(cost) if len(cost) else Markdown("Nothing can be picked yet.")

# %% [markdown]
# ## Design
#
# At each epsilon the pick is the release with the lowest rescaled error, averaged over SWD and JSD, among those whose guarantee holds; its
# sureness comes from paired tests over folds (corrected resampled t, Holm over metrics and pairs). *Cost of privacy*: its error over
# that of the best deep generator without privacy, each trained to a budget of its own, and over what real data scores.

# %%
tidy(publish_text.families())

# %% [markdown]
# ### What went into the study, and what was dropped

# %%
tidy(study.drop_report())

# %% [markdown]
# ## Results
#
# ### Error against epsilon

# %%
along = against_epsilon(study, metrics=("SWD", "JSD", "DTW"))
display(curves.error_along(along, label="epsilon") if len(along) else Markdown("This profile has one epsilon."))

# %% [markdown]
# ### Errors and ranks

# %%
known = study.test_ratio is not None
errors = ranking.errors(study.results, settings, metrics=PRIMARY, test_ratio=study.test_ratio) if known else study.summary()
tidy(errors.rename(columns=label), index=True)

# %%
table = ranking.rank_table(study.results, settings)
display(ranks.rank_plot(table, primary=PRIMARY) if len(table) else Markdown("No setting has two methods with complete runs."))

# %%
tidy(study.summary(value="rescaled"), index=True)

# %% [markdown]
# ### Fewer trips

# %%
sizes = against_size(study, metrics=("SWD", "JSD", "DTW"))
display(curves.error_along(sizes, label="training trajectories") if len(sizes) else Markdown("This profile has one size."))

# %% [markdown]
# ### A wrong map
#
# The same counts drawn on other maps, and on the right one where people leave the roads: errors rise where the map does not hold the ways that
# people took, and a noisy count says how many trajectories leave it. (Another year: streets missing, more of them one-way, other speeds.)

# %%
maps = publish_text.wrong_maps(study)
tidy(maps) if len(maps) else Markdown("This profile has one map.")

# %% [markdown]
# ### Single trips
#
# Distances to real test trips: of detours (way over crow flight), and where a release has times, of mean speeds, of stops (share of a trip's
# time spent standing) and of departures by hour (0: the same shares, 1: no hour in common). *real (train)* is what sampling alone leaves.

# %%
trips = realism_table(study)
tidy(trips) if len(trips) else Markdown("Not shown: no run is complete, or the data set is private.")

# %% [markdown]
# ### Maps

# %%
panels = publish_text.shown(study)
display(plots.maps(panels, segments=study.road_segments()))

# %%
display(plots.densities(panels))

# %% [markdown]
# ## Guarantees

# %%
tidy(study.guarantees(), index=True)

# %%
tidy(composition_table(study))

# %% [markdown]
# ## Cost

# %%
tidy(cost_table(study), index=True, precision=1)

# %% [markdown]
# ## Verdicts
#
# This question tests no published claim.

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
# - The simulated city's people take the shortest way by their own view of the streets, which is also how releases on the map are routed: real
#   drivers are less regular, and people on foot or in parks leave the map.

# %%
display(Markdown(limits(study)))

# %%
print("report complete")
