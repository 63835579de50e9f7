"""How a step is computed (bfloat16, compiled, fused, in large or small physical batches) changes nothing that is promised."""

from __future__ import annotations

import shutil

import pytest
import torch
from deep_toys import LENGTH, SMALL_CONFIG, TINY_CONFIG, toy_records, toy_trainer, toy_trajectories, weights
from torch import Tensor, nn

from trajkit.deep import grad_sample, trainer
from trajkit.deep.batches import poisson_sample
from trajkit.deep.diffusion import Diffusion, DiffusionConfig
from trajkit.deep.engines import make_engine
from trajkit.deep.gan import GanConfig
from trajkit.deep.train_settings import TrainSettings
from trajkit.deep.trainer import Trainer
from trajkit.errors import ParameterError
from trajkit.parameters import checked

COMPILER = shutil.which("g++") or shutil.which("clang++")


def _summed(run: Trainer) -> tuple[list[Tensor], Tensor]:
    run.objective.begin_step(0)
    index = poisson_sample(len(run.records), run.settings.sample_rate, run.generators["sampler"])
    total, _, norms = run._summed_gradient(index, run.objective.draw(len(index), run.generators["draws"]))
    return total, norms


@pytest.mark.parametrize("regime", ["plain", "clipped", "private"])
def test_one_logical_step_has_the_same_gradients_in_every_physical_batch(regime: str) -> None:
    whole, norms = _summed(toy_trainer(regime=regime, physical_batch=64, sample_rate=0.5))
    for size in (1, 3, 16):
        parts, again = _summed(toy_trainer(regime=regime, physical_batch=size, sample_rate=0.5))
        a, b = (torch.cat([g.flatten() for g in total]) for total in (parts, whole))
        assert float((a - b).norm() / b.norm()) < 1e-5
        torch.testing.assert_close(again, norms, rtol=1e-5, atol=0)


def test_in_bfloat16_every_record_is_still_clipped_and_noised_in_single_precision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    samples: list[Tensor] = []
    real = grad_sample.clip

    def spy(given: list[Tensor], bound: float) -> tuple[list[Tensor], Tensor]:
        assert not torch.is_autocast_enabled("cpu") and all(s.dtype == torch.float32 for s in given)
        samples.extend(g.detach().clone() for g in given)
        return real(given, bound)

    monkeypatch.setattr(grad_sample, "clip", spy)
    run = toy_trainer(bf16=True, physical_batch=64, max_grad_norm=0.01)
    total, norms = _summed(run)
    exact = torch.cat([s.double().flatten(1) for s in samples], dim=1).norm(dim=1)[: len(norms)]
    torch.testing.assert_close(norms.double(), exact, rtol=1e-6, atol=0)
    assert bool((norms > 0.01).all()) and norms.dtype == torch.float32
    factor = (0.01 / exact)[:, None]
    expected = [(s.double().flatten(1)[: len(norms)] * factor).sum(0) for s in samples]
    for found, wanted in zip(total, expected, strict=True):
        assert found.dtype == torch.float32
        torch.testing.assert_close(found.double().flatten(), wanted, rtol=1e-4, atol=1e-7)
    before = toy_trainer().generators["noise"].get_state()
    assert torch.equal(run.generators["noise"].get_state(), before)
    run._apply([g.clone() for g in total])
    same = toy_trainer()
    same._apply([g.clone() for g in total])
    assert torch.equal(run.generators["noise"].get_state(), same.generators["noise"].get_state())


def test_bfloat16_is_used_and_stays_near_single_precision() -> None:
    exact, _ = _summed(toy_trainer(regime="plain"))
    rounded, _ = _summed(toy_trainer(regime="plain", bf16=True))
    a, b = (torch.cat([g.flatten() for g in total]) for total in (exact, rounded))
    assert 1e-5 < float((a - b).norm() / a.norm()) < 0.1


def test_clipping_stays_in_single_precision_where_the_caller_casts() -> None:
    samples = [torch.randn(64, 700, generator=torch.Generator().manual_seed(0))]
    alone = grad_sample.clip([s.clone() for s in samples], 0.1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = grad_sample.clip([s.clone() for s in samples], 0.1)
    assert torch.equal(alone[0][0], inside[0][0]) and torch.equal(alone[1], inside[1])


def _released(**changes: object) -> Diffusion:
    values = {k: list(v) if isinstance(v, tuple) else v for k, v in {**TINY_CONFIG, **changes}.items()}
    return Diffusion(checked(DiffusionConfig, values, where="test")).fit(toy_trajectories(), seed=1)


def test_the_guarantee_says_in_which_arithmetic_gradients_were_computed() -> None:
    private = {"regime": "private", "noise_multiplier": 1.0}
    exact, rounded = _released(**private), _released(**private, bf16=True)
    assert rounded.report_["arithmetic"] == "bfloat16" and exact.report_["arithmetic"] == "float32"
    told = set(rounded.guarantee_.assumptions) - set(exact.guarantee_.assumptions)
    assert len(told) == 1 and "clipped, summed and noised in single precision" in told.pop()
    assert rounded.guarantee_.epsilon == exact.guarantee_.epsilon and rounded.guarantee_.holds


def test_how_it_is_computed_names_no_other_noise() -> None:
    config = checked(DiffusionConfig, {}, where="test")
    for name, value in {"bf16": True, "compile": True, "records_on": "host", "physical_batch": None}.items():
        assert config.model_copy(update={name: value}).short == config.short
    assert config.model_copy(update={"steps": 7}).short != config.short


class Distance:
    """Squared distance of what a small network says from 0."""

    draws, second_order, free_rows = 1, False, 0

    def begin_step(self, step: int) -> None: ...

    def end_step(self, model: nn.Module) -> None: ...

    def draw(self, records: int, generator: torch.Generator) -> dict[str, Tensor]:
        return {}

    def losses(self, model: nn.Module, batch: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        return model(batch).square().sum(dim=1)


def _small(**settings: object) -> Trainer:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(2 * LENGTH, 3), nn.Tanh(), nn.Linear(3, 2))
    values = TrainSettings("plain", 3, 1.0, physical_batch=16, **settings)  # type: ignore[arg-type]
    return Trainer(model, Distance(), toy_records(16), values, seed=0, identity="x")  # type: ignore[arg-type]


@pytest.mark.skipif(COMPILER is None, reason="torch.compile needs a C++ compiler on a CPU: g++ or clang++")
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch's own, while it loads its compiler
def test_a_compiled_step_equals_an_eager_one() -> None:
    eager, compiled = _small(), _small(compile=True)
    assert compiled.engine.network is not compiled.model and eager.engine.network is eager.model
    for run in (eager, compiled):
        run.run()
    torch.testing.assert_close(weights(compiled), weights(eager), rtol=1e-5, atol=1e-6)
    assert compiled.load_ema().state_dict().keys() == eager.load_ema().state_dict().keys()


def test_what_cannot_be_compiled_is_refused() -> None:
    for regime in ("clipped", "private"):
        with pytest.raises(ParameterError, match=f"cannot be compiled; leave it out for regime {regime}"):
            checked(
                DiffusionConfig,
                {"regime": regime, "compile": True, **({"epsilon": 1.0} if regime == "private" else {})},
                where="test",
            )
    small = {k: list(v) if isinstance(v, tuple) else v for k, v in SMALL_CONFIG.items()}
    with pytest.raises(ParameterError, match="a penalty is differentiated twice"):
        checked(GanConfig, {**small, "compile": True}, where="test")
    assert checked(GanConfig, {**small, "compile": True, "lipschitz": "slope"}, where="test").compile
    with pytest.raises(ParameterError, match="leave compile out"):
        make_engine(nn.Linear(2, 2), draws=1, second_order=False, max_grad_norm=0.1, compiled=True)


def test_the_optimizer_is_fused_and_equals_the_unfused_one(monkeypatch: pytest.MonkeyPatch) -> None:
    fused = toy_trainer(regime="plain")
    assert fused.optimizer.defaults["fused"]
    real = torch.optim.AdamW
    monkeypatch.setattr(trainer.torch.optim, "AdamW", lambda *a, **k: real(*a, **{**k, "fused": False}))
    unfused = toy_trainer(regime="plain")
    assert not unfused.optimizer.defaults["fused"]
    for run in (fused, unfused):
        run.run()
    torch.testing.assert_close(weights(fused), weights(unfused), rtol=1e-4, atol=1e-5)
