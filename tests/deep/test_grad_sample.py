"""Per-record gradients against an explicit loop over the records."""

from __future__ import annotations

import pytest
import torch
from deep_toys import toy_model
from opacus.grad_sample import GradSampleModule
from torch import Tensor, nn

from trajkit.deep.grad_sample import RecordGradients, clipped_sum

RECORDS = 5


class Mixed(nn.Module):
    """Layers with our own rules, layers with Opacus' rules, a dilated and a strided convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(2, 4, 3, padding=1)
        self.dilated = nn.Conv1d(4, 4, 3, padding=2, dilation=2)
        self.strided = nn.Conv1d(4, 4, 4, stride=2, padding=1, bias=False)
        self.norm = nn.LayerNorm(4)
        self.step = nn.Embedding(20, 4)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        h = self.strided(self.dilated(self.conv(x)).tanh()).transpose(1, 2)
        return (self.norm(h) + self.step(t)[:, None, :]).transpose(1, 2)


def _inputs(draws: int, length: int) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(1)
    rows = RECORDS * draws
    return torch.randn(rows, 2, length, generator=g), torch.randint(0, 20, (rows,), generator=g)


def _loop(model: nn.Module, x: Tensor, t: Tensor, draws: int) -> list[Tensor]:
    """One backward pass a record: [records, parameters]."""
    out = []
    for i in range(RECORDS):
        part = slice(i * draws, (i + 1) * draws)
        loss = model(x[part], t[part]).square().mean(dim=(1, 2)).mean()
        out.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(model.parameters()))]))
    return out


def _backward(model: nn.Module, draws: int, x: Tensor, t: Tensor) -> None:
    network = RecordGradients(model, draws=draws)
    network.backward(network(x, t).square().mean(dim=(1, 2)).unflatten(0, (-1, draws)).mean(1))
    network.remove_hooks()


@pytest.mark.parametrize("draws", [1, 3])
@pytest.mark.parametrize(("make", "length"), [(toy_model, 8), (toy_model, 7), (Mixed, 10)])
def test_gradients_of_records_equal_one_backward_pass_each(make: type, length: int, draws: int) -> None:
    model = make()
    x, t = _inputs(draws, length)
    expected = _loop(model, x, t, draws)
    _backward(model, draws, x, t)
    found = torch.cat([p.grad_sample.flatten(1) for p in model.parameters()], dim=1)
    torch.testing.assert_close(found, torch.stack(expected), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("max_grad_norm", [1e-3, 1e3])
def test_clipped_sum_equals_the_loop_that_clips_each_record(max_grad_norm: float) -> None:
    model = toy_model()
    x, t = _inputs(2, 8)
    gradients = _loop(model, x, t, 2)
    expected = sum(g * min(1.0, max_grad_norm / float(g.norm())) for g in gradients)
    _backward(model, 2, x, t)
    total, norms = clipped_sum(list(model.parameters()), max_grad_norm)
    torch.testing.assert_close(torch.cat([g.flatten() for g in total]), expected, rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(norms, torch.stack([g.norm() for g in gradients]), rtol=1e-4, atol=1e-6)
    assert all(p.grad_sample is None and p.grad is None for p in model.parameters())


def test_agrees_with_opacus_hooks() -> None:
    x, t = _inputs(1, 8)
    model = toy_model()
    _backward(model, 1, x, t)
    found = [p.grad_sample for p in model.parameters()]
    reference = GradSampleModule(toy_model(), loss_reduction="sum")
    with pytest.warns(UserWarning, match="Full backward hook"):
        reference(x, t).square().mean(dim=(1, 2)).sum().backward()
    for a, p in zip(found, reference.parameters(), strict=True):
        torch.testing.assert_close(a, p.grad_sample, rtol=1e-4, atol=1e-6)


def test_a_record_with_zero_gradient_stays_zero() -> None:
    layer = nn.Linear(2, 1, bias=False)
    network = RecordGradients(layer)
    network.backward(network(torch.tensor([[0.0, 0.0], [3.0, 4.0]])))
    total, norms = clipped_sum(list(layer.parameters()), 1.0)
    assert norms.tolist() == [0.0, 5.0]
    torch.testing.assert_close(total[0], torch.tensor([[0.6, 0.8]]))


def test_hooks_leave_a_usable_model_behind() -> None:
    model = toy_model()
    x, t = _inputs(1, 8)
    _backward(model, 1, x, t)
    model(x, t).sum().backward()
    assert all(p.requires_grad and p.grad is not None for p in model.parameters())
