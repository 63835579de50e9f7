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
# # Explore privacy: what a promise means, what it costs, and whether it holds
#
# Run all cells, then move the controls; each section begins with the question that it answers. What takes seconds is computed beside
# the panel, with its progress and *Cancel*. Your own data: set `dataset = "tables"` and `data` to its YAML file, as for the questions;
# a private data set is shown only with `allow_raw = True`: look alone, and keep what you see here.

# %% tags=["parameters"]
dataset = "city"
data = None
dataset_settings = {"trips": 20000, "seed": 0}
allow_raw = False
epsilon = 10.0
trips_per_user = 4
steps = 720
cell_m = 2000
k = 5
audited = "GAN of one parameter, noise on the generator only"
releases = 100000
mechanism = "Laplace"

# %% [markdown]
# ## What does epsilon 10 mean for a person?
#
# Noise is calibrated for single **trajectories** (or users: *epsilon is promised per*). A person adds several. The headline and the orange
# mark say what one epsilon per trajectory is per **user**: move **trips per user, at most**. Below it, every accountant's answer for the
# same noise, and how well the best attacker can do at all. *find* turns the question round: which epsilon does a noise give?

# %%
from trajkit.explore.budget_panel import budget_panel

budget_panel(epsilon=epsilon, trips=trips_per_user, steps=steps)

# %% [markdown]
# ## How much is suppressed when more people must be alike?
#
# k-anonymity releases a trajectory only where **k** people share its sequence of cells and time bins. The left curve is what is lost for each
# k; the map says where. Move **k**, **cell size** and **time bin**. On the right, an adversary who knows some points of a person's
# raw record: the chance that he names the person stays below 1/k once released (dashed), whatever it was before.

# %%
from trajkit.explore.anonymity import anonymity_panel

anonymity_panel(dataset, data=data, settings=dataset_settings, allow_raw=allow_raw, cell_m=cell_m, k=k)

# %% [markdown]
# ## Does a claim stand?
#
# An audit makes many releases with and without one record and asks how well the two can be told apart. Where what the attack achieves leaves the
# grey region, the claim is contradicted. Choose an **audit**, the **claimed epsilon**, and the **trainings counted**: few prove
# little (dotted: the most that so many can show). Finished audits of `make rq4` are at the end of the list.

# %%
from trajkit.explore.audits import audits_panel

audits_panel(subject=audited, releases=releases)

# %% [markdown]
# ## How much noise is that?
#
# Each **mechanism** of the kit at an **epsilon**: the scale and law of its noise, and one draw on counts, on a direction, or on the points of a
# trip. More **sensitivity** (trips of one person) needs more noise; a larger **dimension** spreads counts thinner under the same noise.

# %%
from trajkit.explore.noise import noise_panel

noise_panel(dataset, data=data, settings=dataset_settings, allow_raw=allow_raw, mechanism=mechanism)
