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
# # Explore releases: where does the private model lose roads?
#
# Run all cells. Pick a data set, a **method** and an **epsilon** (smaller is more private): street map, trips, errors, guarantee and examples
# change together. On the street map
#
# - **orange** streets are *lost*: many real trips use them, the release hardly any or none;
# - **black** streets are kept, **blue** ones are busy in the release alone.
#
# Errors are rescaled: 0 is what other real trips score, 1 is what no information scores. The card says whether the guarantee holds, for whom
# (the unit of privacy), and what it rests on. The moving map at the end shows real trips on the left and released ones on the right.
#
# Releases of the fast methods are made when the panel opens (about a minute, kept in `.cache/`; *Cancel* stops it); finished runs of the
# questions (`make rq1` ... `make rq7`) appear in the same menus, deep generators among them.

# %% tags=["parameters"]
dataset = "city"
data = None
dataset_settings = {}
profile = "quick"
method = "privtrace"
epsilon = 1.0
allow_raw = False

# %%
from trajkit.explore.runs import runs_panel

runs_panel(
    dataset, data=data, settings=dataset_settings, profile=profile, method=method, epsilon=epsilon, allow_raw=allow_raw
)

# %% [markdown]
# A release from a seed, as here, shows what a method does; it is not for publication. `make release` makes one that is.
