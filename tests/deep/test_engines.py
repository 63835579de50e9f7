"""Gradient sums of every engine and model against an explicit loop over the records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from trajkit.deep import critic
from trajkit.deep.condition_config import ConditionConfig
from trajkit.deep.condition_inputs import ConditionInputs, condition_net, fixed_compressor
from trajkit.deep.conditioning import Conditioned, ConditionNet, Privatised
from trajkit.deep.critic import CriticLoss, Lipschitz
from trajkit.deep.ddpm import Denoising, alphas_bar
from trajkit.deep.engines import Functional, Hooked, Whole, make_engine, of_records
from trajkit.deep.halves import Decoder, Encoder
from trajkit.deep.objective import Objective
from trajkit.deep.unet import Sizes, UNet
from trajkit.deep.vae import Autoencoder, Elbo

LATENT = 3
CLIP = 1e-3


def _critic(sizes: Sizes, length: int, lipschitz: str, fakes: str = "separate") -> tuple[nn.Module, Objective]:
    generator = Decoder(sizes, length, LATENT)
    options: dict[str, Any] = {"pool": 7, "seed": 0, "lipschitz": lipschitz, "penalty_weight": 10.0, "fakes": fakes}
    critic = Encoder(sizes, length, 1)
    with torch.no_grad():
        critic.dense.weight *= 30  # steep enough for the penalty to bite
    objective = CriticLoss(generator, LATENT, **options)
    objective.begin_step(0)
    return critic, objective


MECHANISM = ConditionConfig(type="sample", mechanism="vmf", epsilon=20.0, d_out=3)


def _conditional(body: nn.Module, size: int, length: int) -> tuple[nn.Module, ConditionInputs]:
    private = Privatised.of(MECHANISM, delta=None)
    net = condition_net(MECHANISM, private, length=length, size=size)
    return Conditioned(body, net), ConditionInputs(MECHANISM, private, length=length, half_box=1.0, net=net)


def _conditional_diffusion(sizes: Sizes, length: int, draws: int) -> tuple[nn.Module, Objective]:
    model, inputs = _conditional(UNet(sizes), sizes.embedding, length)
    return model, Denoising(alphas_bar("linear", 20), (2, length), draws=draws, condition=inputs)


def _conditional_vae(sizes: Sizes, length: int, draws: int) -> tuple[nn.Module, Objective]:
    body = Autoencoder(Encoder(sizes, length, 2 * LATENT), Decoder(sizes, length, LATENT))
    model, inputs = _conditional(body, sizes.embedding, length)
    return model, Elbo(LATENT, kl_weight=0.1, warmup_steps=0, draws=draws, condition=inputs)


def _conditional_critic(sizes: Sizes, length: int, lipschitz: Lipschitz) -> tuple[nn.Module, Objective]:
    private, fixed = Privatised.of(MECHANISM, delta=None), fixed_compressor(MECHANISM, length)

    def net() -> ConditionNet:
        return condition_net(MECHANISM, private, length=length, size=sizes.embedding, compress=False)

    critic = Encoder(sizes, length, 1, conditional=True)
    with torch.no_grad():
        critic.dense.weight *= 30
    objective = CriticLoss(
        Conditioned(Decoder(sizes, length, LATENT), net()),
        LATENT,
        pool=7,
        seed=0,
        lipschitz=lipschitz,
        penalty_weight=10.0,
        fakes="paired",
        condition=ConditionInputs(MECHANISM, private, length=length, half_box=1.0, fixed=fixed),
    )
    objective.begin_step(0)
    return Conditioned(critic, net()), objective


MODELS: dict[str, Callable[[Sizes, int, int], tuple[nn.Module, Objective]]] = {
    "diffusion": lambda s, n, k: (UNet(s), Denoising(alphas_bar("linear", 20), (2, n), draws=k, prediction="velocity")),
    "vae": lambda s, n, k: (
        Autoencoder(Encoder(s, n, 2 * LATENT), Decoder(s, n, LATENT)),
        Elbo(LATENT, kl_weight=0.1, warmup_steps=0, draws=k),
    ),
    "critic with penalty": lambda s, n, k: _critic(s, n, "penalty"),
    "critic with slope": lambda s, n, k: _critic(s, n, "slope"),
    "critic without": lambda s, n, k: _critic(s, n, "projection"),
    "paired critic with penalty": lambda s, n, k: _critic(s, n, "penalty", "paired"),
    "paired critic with slope": lambda s, n, k: _critic(s, n, "slope", "paired"),
    "conditional diffusion": _conditional_diffusion,
    "conditional vae": _conditional_vae,
    "conditional critic with penalty": lambda s, n, k: _conditional_critic(s, n, "penalty"),
    "conditional critic with slope": lambda s, n, k: _conditional_critic(s, n, "slope"),
}
SIZES = st.builds(
    Sizes,
    channels=st.sampled_from([4, 8]),
    multipliers=st.sampled_from([(1,), (1, 2), (1, 2, 1)]),
    blocks=st.integers(1, 2),
    groups=st.sampled_from([1, 2]),
    attention=st.booleans(),
)


def _inputs(objective: Objective, records: int, length: int) -> dict[str, Tensor]:
    g = torch.Generator().manual_seed(1)
    return {"record": torch.randn(records, 2, length, generator=g), **objective.draw(records, g)}


def _one_by_one(model: nn.Module, objective: Objective, inputs: dict[str, Tensor]) -> Tensor:
    """[records, parameters], one backward pass each."""
    out = []
    for i in range(len(inputs["record"])):
        loss = of_records(objective)(model, {k: v[i : i + 1] for k, v in inputs.items()}).sum()
        gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
        flat = [
            torch.zeros(p.numel()) if g is None else g.flatten()
            for g, p in zip(gradients, model.parameters(), strict=True)
        ]
        out.append(torch.cat(flat))
    return torch.stack(out)


def _double(model: nn.Module, objective: Objective) -> nn.Module:
    condition = getattr(objective, "condition", None)
    if condition is not None and condition.fixed is not None:
        condition.fixed.double()
        objective.generator.double()  # type: ignore[attr-defined]
    return model.double()


def _flat(gradients: list[Tensor]) -> Tensor:
    return torch.cat([g.flatten() for g in gradients])


def _close(found: Tensor, expected: Tensor) -> None:
    assert float((found - expected).norm()) <= 1e-5 * float(expected.norm()) + 1e-9


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=8, deadline=None)
@given(sizes=SIZES, length=st.integers(4, 11), records=st.integers(1, 5), draws=st.integers(1, 2))
def test_clipped_sums_equal_records_one_by_one(name: str, sizes: Sizes, length: int, records: int, draws: int) -> None:
    torch.manual_seed(0)
    model, objective = MODELS[name](sizes, length, draws)
    inputs = _inputs(objective, records, length)
    if "critic" in name:  # second derivatives and difference quotients lose digits, which would hide what is compared
        model, inputs = _double(model, objective), {k: v.double() for k, v in inputs.items()}
    single = _one_by_one(model, objective, inputs)
    for max_grad_norm in (CLIP, 1e6):
        engine = make_engine(
            model, draws=objective.draws, second_order=objective.second_order, max_grad_norm=max_grad_norm
        )
        _, total, norms = engine.summed(of_records(objective), inputs, torch.ones(records))
        engine.close()
        _close(norms, single.norm(dim=1))
        _close(_flat(total), (single * (max_grad_norm / single.norm(dim=1)).clamp(max=1)[:, None]).sum(0))


@pytest.mark.parametrize("name", MODELS)
def test_the_plain_engine_sums_the_same_gradients(name: str) -> None:
    torch.manual_seed(0)
    model, objective = MODELS[name](Sizes(4, (1, 2), 1, 2), 8, 1)
    inputs = _inputs(objective, 5, 8)
    if "critic" in name:
        model, inputs = _double(model, objective), {k: v.double() for k, v in inputs.items()}
    losses, total, norms = Whole(model).summed(of_records(objective), inputs, torch.ones(5))
    _close(_flat(total), _one_by_one(model, objective, inputs).sum(0))
    assert len(losses) == 5 and len(norms) == 0


def test_the_penalty_bites_in_these_tests_and_its_micro_batches_agree() -> None:
    """Per-record gradients through the penalty, all at once and in physical batches of one, are the same."""
    torch.manual_seed(0)
    model, objective = MODELS["critic with penalty"](Sizes(4, (1, 2), 1, 2), 8, 1)
    inputs = _inputs(objective, 4, 8)
    without = MODELS["critic without"](Sizes(4, (1, 2), 1, 2), 8, 1)[1]
    with_penalty, plain = of_records(objective)(model, inputs), of_records(without)(model, inputs)
    assert bool((with_penalty > plain + 0.01).any())
    engine = Functional(model, 1e6)
    whole = _flat(engine.summed(of_records(objective), inputs, torch.ones(4))[1])
    parts = [
        _flat(engine.summed(of_records(objective), {k: v[i : i + 1] for k, v in inputs.items()}, torch.ones(1))[1])
        for i in range(4)
    ]
    _close(whole, torch.stack(parts).sum(0))


def test_the_slope_is_the_penalty_to_second_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Value and gradient agree, since the gradient of a norm is that along its own direction; half the step, a quarter of the error."""
    torch.manual_seed(0)
    model, objective = MODELS["critic with penalty"](Sizes(8, (1, 2), 1, 2), 8, 1)
    quotient = MODELS["critic with slope"](Sizes(8, (1, 2), 1, 2), 8, 1)[1]
    model = model.double()
    inputs = {k: v.double() for k, v in _inputs(objective, 6, 8).items()}

    def both(chosen: Objective) -> tuple[Tensor, Tensor]:
        losses, gradients, _ = Whole(model).summed(of_records(chosen), inputs, torch.ones(6))
        return losses, _flat(gradients)

    exact, off = both(objective), []
    for step in (0.02, 0.01):
        monkeypatch.setattr(critic, "STEP", step)
        found = both(quotient)
        off.append([float((a - b).norm() / a.norm()) for a, b in zip(exact, found, strict=True)])
    assert max(off[0]) < 0.02
    assert all(3.5 < a / b < 4.5 for a, b in zip(*off, strict=True))


def test_rows_that_only_fill_up_count_for_nothing() -> None:
    torch.manual_seed(0)
    for name in MODELS:
        model, objective = MODELS[name](Sizes(4, (1, 2), 1, 2), 8, 1)
        inputs = _inputs(objective, 4, 8)
        first = {k: v[:2] for k, v in inputs.items()}
        sums = []
        for part, counts in ((inputs, torch.tensor([1.0, 1.0, 0.0, 0.0])), (first, torch.ones(2))):
            engine = make_engine(model, draws=1, second_order=objective.second_order, max_grad_norm=CLIP)
            sums.append(_flat(engine.summed(of_records(objective), part, counts)[1]))
            engine.close()
        _close(*sums)


def test_the_fastest_exact_engine_is_chosen() -> None:
    model = Encoder(Sizes(4, (1, 2), 1, 2), 8, 1)
    kinds = [
        type(make_engine(model, draws=1, second_order=second, max_grad_norm=clip))
        for second, clip in ((False, None), (True, None), (True, 1.0), (False, 1.0))
    ]
    assert kinds == [Whole, Whole, Functional, Hooked]
