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
# # Generative adversarial network with and without DP-SGD
#
# A Wasserstein GAN with a Lipschitz penalty (WGAN-LP, Petzka et al. 2018) on the two halves of the UNet that the diffusion model
# uses: a generator turns normal noise into trajectories of fixed length, a critic learns to tell them from real ones, and the
# generator learns from the critic. Only the generator is released. `n_critic` critic updates precede each of `steps` generator
# updates, and each critic update draws one batch of records.
#
# With `regime: private`, `dp_target` says whose gradients are clipped and noised, and so what is promised:
#
# - `critic` (the default): DP-SGD trains the critic. It alone sees records, every one of its updates is accounted, and the
#   generator, which learns from the critic only, is post-processing. The guarantee holds.
# - `generator`: the published scheme. The noise goes to the generator's gradients, one a latent vector, while the critic learns from
#   records without noise. One record can move every gradient of every update, so the guarantee does not hold, and says why.
# - `both`: accounted by the critic; the noise in the generator adds nothing to what is promised.
#
# With `condition: {"type": "sample", "mechanism": "gaussian", "epsilon": 20.0}` among the parameters, every trajectory is generated after
# one that is held out from the training set: compressed, bounded, made private, decompressed. The generator is trained on the
# private vectors, so they are drawn once, through a random compressor that nobody trains. All settings are in
# `trajkit/deep/condition_config.py`.
#
# The line that adds the noise is in `trajkit/deep/trainer.py`. Run it here as it is (a small model on simulated data, about a
# minute), change a parameter, or let `python -m trajkit run` execute it for a study.

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
parameters = {"regime": "private", "epsilon": 10.0, "steps": 60, "n_critic": 2, "batch_size": 128}
evaluation = {}
run_dir = ""

# %%
from trajkit.study import open_run
from trajkit.viz import plots

run = open_run(
    run_dir, method="gan", dataset=dataset, data=data, dataset_settings=dataset_settings, unit=unit, fold=fold,
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
#
# The loss is the critic's: it falls below zero as the critic learns to tell real from generated, and comes back as the generator
# learns to follow. Its level says little about the quality of the release.

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
{k: release.report[k] for k in ("dp_target", "updates of the released network", "generator updates", "critic updates")}

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
