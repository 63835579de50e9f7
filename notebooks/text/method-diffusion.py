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
# # Diffusion model with and without DP-SGD
#
# A denoising diffusion model on a 1-D UNet (after DiffTraj) learns to turn noise into trajectories of fixed length. With
# `regime: private` it is trained by DP-SGD: each trajectory takes part in a step by its own coin, its gradient is clipped, and
# Gaussian noise is added to the sum. The line that adds the noise is in `trajkit/deep/trainer.py`.
#
# With `condition: {"type": "sample", "mechanism": "gaussian", "epsilon": 20.0}` among the parameters, every trajectory is generated after
# one that is held out from the training set: compressed, bounded, made private, decompressed. `drop` and `guidance` give classifier-free guidance.
# `type: attributes` takes eight statistics instead of the trajectory; all settings are in `trajkit/deep/condition_config.py`.
#
# Run it here as it is (a small model on simulated data, about a minute), change a parameter, or let
# `python -m trajkit run` execute it for a study.

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
parameters = {"regime": "private", "epsilon": 10.0, "steps": 150, "batch_size": 128}
evaluation = {}
run_dir = ""

# %%
from trajkit.study import open_run
from trajkit.viz import plots

run = open_run(
    run_dir, method="diffusion", dataset=dataset, data=data, dataset_settings=dataset_settings, unit=unit, fold=fold,
    train_size=train_size, seed=seed, length=length, n_release=n_release, parameters=parameters, evaluation=evaluation,
)
run.describe()

# %% [markdown]
# ## Data
#
# Every step of the processing, with what it dropped and why.

# %%
run.drop_report()

# %% [markdown]
# ## Training

# %%
method = run.fit()

# %%
plots.loss_curves({run.config.parameters["regime"]: run.history(method)})

# %% [markdown]
# ## Release and guarantee

# %%
release = run.release(method)
release.guarantee.in_words()

# %%
release.report

# %% [markdown]
# ## Looked at
#
# Real test trajectories (public data only) beside released ones.

# %%
plots.maps({"real (test)": run.real_panel(), "released": release.trajectories})

# %% [markdown]
# ## Judged
#
# Values in each metric's own unit. A question's report rescales them between real data and no information.

# %%
run.evaluate(release)

# %%
print(run.finish())
