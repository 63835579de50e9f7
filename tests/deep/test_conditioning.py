"""The condition inside a network: bounds, private versions, the schedule, the embeddings, guidance."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from trajkit.deep.attributes import CELLS, SLOTS
from trajkit.deep.condition_config import EPSILON_RANGE, ConditionConfig
from trajkit.deep.condition_inputs import ConditionInputs, condition_net, fixed_compressor
from trajkit.deep.conditioning import GRID, Conditioned, Privatised, WideDeep, bounded, mixed
from trajkit.deep.diffusion import guided
from trajkit.errors import ParameterError
from trajkit.methods import make_method

MECHANISMS = ("laplace", "gaussian", "vmf")


def config(mechanism: str = "none", epsilon: float = 20.0, **options: object) -> ConditionConfig:
    asked = {"type": "sample", **options}
    if mechanism != "none":
        asked |= {"mechanism": mechanism, "epsilon": epsilon}
    return ConditionConfig(**asked)  # type: ignore[arg-type]


def privatised(mechanism: str, **options: object) -> Privatised:
    made = Privatised.of(config(mechanism, **options), delta=1e-5 if mechanism == "gaussian" else None)  # type: ignore[arg-type]
    assert made is not None
    return made


def unit_rows(n: int, d: int, mechanism: str, seed: int = 0) -> np.ndarray:
    """Random directions of norm 1 in the norm that the mechanism bounds."""
    rows = np.random.default_rng(seed).standard_normal((n, d))
    return rows / np.linalg.norm(rows, ord=1 if mechanism == "laplace" else 2, axis=1, keepdims=True)


@given(st.integers(1, 2), st.floats(0.1, 10), st.sampled_from(["clip", "scale"]), st.integers(0, 1000))
def test_bounded_rows_keep_their_direction(order: int, norm: float, how: str, seed: int) -> None:
    rows = torch.randn(6, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 3
    made = bounded(rows, norm=norm, order=order, how=how)
    size = torch.linalg.vector_norm(made, ord=order, dim=1)
    assert bool((size <= norm * (1 + 1e-12)).all())
    if how == "scale":
        torch.testing.assert_close(size, torch.full_like(size, norm))
    torch.testing.assert_close(torch.cosine_similarity(rows, made), torch.ones(6, dtype=torch.float64))


def test_a_short_row_is_not_clipped_and_zero_stays_zero() -> None:
    rows = torch.tensor([[0.3, 0.0], [0.0, 0.0]])
    assert torch.equal(bounded(rows, norm=1.0, order=2, how="clip"), rows)
    assert torch.equal(bounded(rows[1:], norm=1.0, order=2, how="scale"), rows[1:])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_mechanism_takes_any_table(mechanism: str) -> None:
    """Tabular data: four columns of an unrelated table, scaled by public ranges and bounded, come back private, row by row."""
    draws = np.random.default_rng(1)
    table = np.column_stack([draws.uniform(18, 90, 400), draws.uniform(0, 1e5, 400), draws.integers(0, 2, (400, 2))])
    scaled = (table - [54, 5e4, 0.5, 0.5]) / [36, 5e4, 0.5, 0.5]
    p = privatised(mechanism, d_out=4)
    rows = bounded(torch.from_numpy(scaled), norm=1.0, order=1 if mechanism == "laplace" else 2, how="clip").numpy()
    made = p.randomise(rows, np.random.default_rng(2))
    assert made.shape == table.shape and np.isfinite(made).all()
    sizes = np.linalg.norm(rows, axis=1) * np.linalg.norm(made, axis=1)
    found = (rows * made).sum(axis=1) / sizes
    assert found.mean() == pytest.approx(p.expected_cosine(rows), abs=4.5 * found.std() / 20)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("d", [4, 8, 256])
def test_at_epsilon_20_the_signal_kept_agrees_with_theory(mechanism: str, d: int) -> None:
    """Mean cosine of 4,000 rows within 4.5 standard errors of the prediction (false alarm 7e-6), in training and in generation."""
    rows = unit_rows(4000, d, mechanism)
    p = privatised(mechanism, d_out=d)
    expected = p.expected_cosine(rows[:200] if mechanism == "laplace" else rows)
    in_training = p.apply(torch.from_numpy(rows), p.draw(4000, np.random.default_rng(3)).double()).numpy()
    for made in (p.randomise(rows, np.random.default_rng(2)), in_training):
        cosine = (rows * made).sum(axis=1) / np.linalg.norm(rows, axis=1) / np.linalg.norm(made, axis=1)
        slack = 0.01 if mechanism == "laplace" else 0.0  # the prediction is of 200 of the rows
        assert abs(cosine.mean() - expected) < 4.5 * cosine.std() / np.sqrt(4000) + slack


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon", [EPSILON_RANGE[0], 1.0, EPSILON_RANGE[1]])
@pytest.mark.parametrize("d", [2, 256])
def test_no_epsilon_and_no_size_breaks_numerically(mechanism: str, epsilon: float, d: int) -> None:
    p = privatised(mechanism, epsilon=epsilon, d_out=d)
    rows = torch.from_numpy(0.999 * unit_rows(50, d, mechanism)).float().requires_grad_()
    made = p.apply(rows, p.draw(50, np.random.default_rng(0)))
    made.square().sum().backward()
    assert bool(torch.isfinite(made).all()) and bool(torch.isfinite(rows.grad).all())  # type: ignore[arg-type]
    assert float(made.detach().square().sum(dim=1).mean()) < 4  # the public factor keeps it at the size of its bound
    assert np.isfinite(p.randomise(rows.detach().double().numpy(), np.random.default_rng(1))).all()


def test_beyond_its_range_epsilon_is_refused() -> None:
    for epsilon in (0.001, 1000.0):
        with pytest.raises(ParameterError, match=r"condition\.epsilon"):
            make_method("diffusion", condition={"type": "sample", "mechanism": "vmf", "epsilon": epsilon})


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (None, "a condition is a mapping"),
        ("sample", "a condition is a mapping"),
        ({"type": "none", "d_out": 4}, "type none has no other settings"),
        ({"type": "sample", "mechanism": "vmf"}, "mechanism and epsilon of a condition belong together"),
        ({"type": "sample", "epsilon": 1.0}, "mechanism and epsilon of a condition belong together"),
        (
            {"type": "sample", "mechanism": "vmf", "epsilon": 1.0, "delta": 0.1},
            "delta belongs to the mechanism gaussian",
        ),
        ({"type": "sample", "mix_steps": 3}, "mix_steps of a condition would do nothing"),
        ({"type": "attributes", "d_out": 4, "norm": 2.0}, "d_out, norm of a condition would do nothing"),
        ({"type": "sample", "guidance": 1.0}, "guidance needs drop above 0"),
        (
            {"type": "sample", "mechanism": "vmf", "epsilon": 1.0, "mix_steps": 9999},
            "mix_steps 9999 exceeds the 240 steps",
        ),
        ({"type": "sample", "eps": 1.0}, "condition.eps is unknown; known here: type, mechanism, epsilon"),
        ({"type": "sample", "d_out": 1}, "condition.d_out"),
        ({"type": "sample", "norm": 1e-6}, "condition.norm"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(condition: object, words: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(words)):
        make_method("diffusion", condition=condition)


def test_a_row_beyond_its_bound_is_refused_and_a_row_of_zeros_gets_a_direction() -> None:
    with pytest.raises(ParameterError):
        privatised("laplace", d_out=3).randomise(np.full((1, 3), 0.5), np.random.default_rng(0))
    made = privatised("vmf", d_out=3).randomise(np.zeros((2000, 3)), np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1.0, atol=1e-5)
    assert privatised("laplace", d_out=3).expected_cosine(np.zeros((5, 3))) == 0.0
    assert made[:, 0].mean() > 0.8 and abs(made[:, 1].mean()) < 0.05


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_private_vectors_lie_on_a_public_grid(mechanism: str) -> None:
    made = privatised(mechanism, d_out=4).randomise(unit_rows(100, 4, mechanism), np.random.default_rng(0)) / GRID
    small = privatised(mechanism, d_out=4, norm=1e-3)
    cosine = small.randomise(1e-3 * unit_rows(100, 4, mechanism), np.random.default_rng(0))
    assert 0.5e-3 < float(np.linalg.norm(cosine, axis=1).mean()) < 2e-3  # the grid shrinks with the norm
    assert bool((made == made.round()).all())


def test_the_schedule_goes_from_plain_to_private() -> None:
    made = config("gaussian")
    private = Privatised.of(made, delta=1e-5)
    net = condition_net(made, private, length=4, size=6)
    inputs = ConditionInputs(made, private, length=4, half_box=1.0, mix_steps=10, net=net)
    shares = []
    for step in (0, 5, 10, 99):
        inputs.begin_step(step)
        shares.append(net.mix)
    assert shares == [0.0, 0.5, 1.0, 1.0]
    rows, drawn = torch.randn(3, 8), torch.randn(3, 8)
    assert torch.equal(mixed(private, rows, drawn, 0.0), rows)
    torch.testing.assert_close(mixed(private, rows, drawn, 1.0), private.apply(rows, drawn))  # type: ignore[union-attr]
    assert torch.equal(mixed(None, rows, drawn, 1.0), rows)


def test_a_row_without_its_condition_has_no_embedding() -> None:
    made = config("vmf", drop=0.5)
    private = Privatised.of(made, delta=None)
    net = condition_net(made, private, length=4, size=6)
    inputs = ConditionInputs(made, private, length=4, half_box=3.0, net=net)
    g = torch.Generator().manual_seed(0)
    drawn = inputs.draw(200, 2, g)
    clean, source = inputs.split(torch.randn(200, 2, 4, generator=g))
    (packed,) = inputs.rows(source, drawn, 2)
    embedding = net(packed)
    kept = packed[:, -1].bool()
    assert clean.shape == (200, 2, 4) and packed.shape == (400, 8 + 9 + 1)
    assert 0.4 < float(kept.float().mean()) < 0.6
    assert bool((embedding[~kept] == 0).all()) and bool((embedding[kept].abs().sum(dim=1) > 0).all())


def test_wide_and_deep_is_a_linear_layer_plus_tables() -> None:
    """By hand: the ids pick a column of each table; an id that is none picks nothing."""
    net = WideDeep(3)
    encoded = torch.zeros(2, 8)
    encoded[0, 0], encoded[0, 6], encoded[0, 7] = SLOTS - 1, 5, CELLS - 1
    encoded[0, 1:6] = torch.arange(5.0)
    encoded[1, [0, 6, 7]] = 1e6
    tables = torch.cat([net.slot.weight[:, -1], net.start.weight[:, 5], net.end.weight[:, -1]])
    by_hand = net.wide(torch.arange(5.0)) + net.deep_2(torch.relu(net.deep_1(tables)))
    found = net(encoded)
    torch.testing.assert_close(found[0], by_hand)
    torch.testing.assert_close(found[1], net.wide(torch.zeros(5)) + net.deep_2(torch.relu(net.deep_1(torch.zeros(9)))))


def test_guidance_goes_beyond_the_conditional_prediction() -> None:
    def body(x: Tensor, t: Tensor, embedding: Tensor | None = None) -> Tensor:
        return x if embedding is None else x + embedding

    x, e = torch.ones(2), torch.full((2,), 2.0)
    assert guided(body, 0.0)(x, x, e).tolist() == [3, 3]  # type: ignore[arg-type]
    assert guided(body, 3.0)(x, x, e).tolist() == [9, 9]  # type: ignore[arg-type]


def test_the_fixed_compressor_is_orthonormal_and_not_trained() -> None:
    made = fixed_compressor(config("vmf", d_out=4), 8)
    assert made is not None and not any(p.requires_grad for p in made.parameters())
    torch.testing.assert_close(made.dense.weight @ made.dense.weight.T, torch.eye(4), atol=1e-5, rtol=0)
    assert fixed_compressor(ConditionConfig(type="attributes"), 8) is None


def test_the_embedding_enters_as_the_extra_one() -> None:
    class Body(nn.Module):
        def forward(self, x: Tensor, t: Tensor, extra_embedding: Tensor) -> Tensor:
            return x + t + extra_embedding.sum(dim=1)

    made = config()
    net = condition_net(made, None, length=2, size=5)
    packed = torch.cat([torch.randn(3, 4), torch.ones(3, 1)], dim=1)
    model = Conditioned(Body(), net)
    torch.testing.assert_close(model(torch.zeros(3), torch.ones(3), packed), 1 + net(packed).sum(dim=1))
