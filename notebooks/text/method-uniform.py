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
# # Baselines: the floor and the ceilings
#
# `real` publishes real training trajectories: no method can be expected to beat it, and it protects nobody. `uniform` scatters
# points over the public box, `straight` draws straight lines between random ends and `cloud` normal points about the middle: they
# look at no data, so they protect everybody and tell nothing. Every error of a study is read between these.

# %% tags=["parameters"]
dataset = "city"
data = None
dataset_settings = {"people": 120, "days": 3, "seed": 0}
unit = "trajectory"
fold = 0
train_size = None
seed = 0
length = 64
n_release = 200
method = "uniform"
parameters = {}
evaluation = {}
run_dir = ""

# %%
from trajkit.study import open_run
from trajkit.viz import plots

run = open_run(
    run_dir, method=method, dataset=dataset, data=data, dataset_settings=dataset_settings, unit=unit, fold=fold,
    train_size=train_size, seed=seed, length=length, n_release=n_release, parameters=parameters, evaluation=evaluation,
)
run.describe()

# %% [markdown]
# ## Data

# %%
run.drop_report()

# %% [markdown]
# ## Release

# %%
release = run.release(run.fit())
release.guarantee.in_words()

# %%
released = release.trajectories if run.config.method != "real" or run.may_show_raw else None
plots.maps({"real (test)": run.real_panel(), "released": released})

# %% [markdown]
# ## Judged

# %%
run.evaluate(release)

# %%
print(run.finish())
