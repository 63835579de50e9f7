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
# # Explore a data set
#
# Where and when do people move, and how few places must somebody know to single a person out? Run all cells, then move the controls:
#
# - **hours of the day**: only trips that start in this window count, in every view;
# - **cell size**: width of the cells of the density map, and how precisely a place is known;
# - **time known to**: how precisely the time of a known place is known;
# - **points known**: how many such places (with time) somebody knows of a person.
#
# The red mark is the share of people who match nobody else with so many known points: coarser cells and times bring it down, more
# points bring it up. The moving map below has a time player. Your own data: set `dataset = "tables"` and `data` to its YAML file, as for
# the questions. Trips of a private data set are drawn only with `allow_raw = True`; look at them alone, and keep what you see here.

# %% tags=["parameters"]
dataset = "city"
data = None
dataset_settings = {"trips": 20000, "seed": 0}
allow_raw = False
hours = [0, 24]
cell_m = 1000
minutes = "1 h"
points = 4

# %%
from trajkit.explore.data import data_panel

data_panel(
    dataset, data=data, settings=dataset_settings, allow_raw=allow_raw, hours=hours, cell_m=cell_m, minutes=minutes, points=points
)

# %% [markdown]
# Without a person in front of it (papermill, `make test`) this notebook shows the same figures for the values above.
