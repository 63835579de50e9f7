"""The critic's side of the Wasserstein GAN: its loss per record, and what keeps the critic Lipschitz.

One record's loss is -D(x) plus the penalty at one point on a random line from x to a generated trajectory (WGAN-LP, Petzka
et al. 2018): both depend on that record alone, so that clipping their joint gradient bounds what the record can do.
The loss on generated trajectories stands inside the records' losses, one generated trajectory a record (``fakes: paired``), or,
since given the weights it depends on no record, alone (``separate``), clipped like a record and not noised. Alone it can run
away: where the critic is steep, the clipped penalty pulls no harder than the clipped fakes push. Paired, the penalty of a
steep critic fills the whole clipped gradient of its record.

Three ways to the Lipschitz bound. ``penalty``: on the norm of the input gradient, differentiated twice. ``slope``: on the
difference quotient along the steepest direction, which has the same value and the same gradient to second order in the
step and needs first derivatives only, so that per-record gradients come by hooks. ``projection``: of the weights, after
each step, instead of a penalty.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.func import grad

from trajkit.deep.condition_inputs import ConditionInputs, no_condition
from trajkit.deep.engines import bystander
from trajkit.errors import ParameterError, RunFailedError
from trajkit.seeds import child_seed

Lipschitz = Literal["penalty", "slope", "projection"]
Fakes = Literal["separate", "paired"]
STEP = 0.02  # of the difference quotient, on the scale of ``half_box``


class CriticLoss:
    """The objective of the critic against ``generator``, which it reads and never trains.

    The generator stands still for ``n_critic`` steps, so the ``pool`` generated trajectories of these steps are made once, from
    a seed of their own: a training that is resumed between two updates makes the same. With a condition the
    critic judges a trajectory beside it: a record and a trajectory generated from the record's own condition, which is a
    function of that record alone. So nothing can be told from the condition, and the penalty need not bound it.
    ``projection``: largest singular value of every weight, restored after each step; it is a function of the weights alone.
    """

    def __init__(
        self,
        generator: nn.Module,
        latent: int,
        *,
        pool: int,
        seed: int,
        n_critic: int = 1,
        lipschitz: Lipschitz,
        penalty_weight: float,
        projection: float = 1.0,
        fakes: Fakes = "separate",
        condition: ConditionInputs | None = None,
    ) -> None:
        self.generator, self.latent, self.fakes = generator, latent, fakes
        self.seed, self.n_critic, self.pool_size = seed, n_critic, pool
        self.free_rows = pool if fakes == "separate" else 0
        self.pool_of = -1
        self.condition = condition or no_condition(0)
        if self.condition.active and fakes != "paired":
            raise ParameterError(f"fakes {fakes!r} have no record to share a condition with: use paired")
        self.lipschitz, self.penalty_weight, self.projection = lipschitz, penalty_weight, projection

    @property
    def draws(self) -> int:
        """Rows of the network that belong to one record."""
        return 1 + (self.fakes == "paired") + 2 * (self.lipschitz == "slope")

    @property
    def second_order(self) -> bool:
        """Whether the loss contains the critic's input gradient."""
        return self.lipschitz == "penalty"

    @torch.no_grad()
    def begin_step(self, step: int) -> None:
        """Generate trajectories anew when the generator has moved; the condition's schedule."""
        self.condition.begin_step(step)
        update = step // self.n_critic
        if update != self.pool_of and not self.condition.active:
            draws = torch.Generator().manual_seed(child_seed(self.seed, "noise", f"pool {update}"))
            z = torch.randn(self.pool_size, self.latent, generator=draws)
            self.pool = self.generator(z.to(next(self.generator.parameters()).device))
            self.pool_of = update

    def end_step(self, model: nn.Module) -> None:
        """Project the weights, where that keeps the critic Lipschitz."""
        if self.lipschitz == "projection":
            project(model, self.projection)

    def draw(self, records: int, generator: torch.Generator) -> dict[str, Tensor]:
        """Return places on the lines [records] and generated trajectories [records, 2, L] out of the pool; with a condition
        latent vectors [records, latent] instead, and the condition's draws."""
        u = torch.rand(records, generator=generator)
        if self.condition.active:
            z = torch.randn(records, self.latent, generator=generator)
            return {"u": u, "latent": z, **self.condition.draw(records, 1, generator)}
        chosen = torch.randint(self.pool_size, (records,), generator=generator).to(self.pool.device)
        return {"u": u, "fake": self.pool[chosen]}

    def draw_free(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Return the pool."""
        return {"fake": self.pool}

    def losses(self, model: nn.Module, batch: Tensor, drawn: dict[str, Tensor]) -> Tensor:
        """Return [records] for ``batch`` [records, 2, L]."""
        batch, source = self.condition.split(batch)
        own = self.condition.rows(source, drawn, 1)
        with torch.no_grad():
            fake = self.generator(drawn["latent"], *own) if own else drawn["fake"]
        u = drawn["u"][:, None, None]
        between = u * batch + (1 - u) * fake
        rows = [batch, fake] if self.fakes == "paired" else [batch]
        if self.lipschitz == "slope":
            ahead = STEP * steepest(model, between, *own)
            rows += [between + ahead, between - ahead]
        beside = [c.repeat_interleave(len(rows), dim=0) for c in own]
        scores = _full(model(torch.stack(rows, dim=1).flatten(0, 1), *beside)[:, 0]).unflatten(0, (-1, len(rows)))
        loss = -scores[:, 0] + (scores[:, 1] if self.fakes == "paired" else 0)
        if self.lipschitz == "penalty":
            slope = grad(lambda x: _full(model(x, *own)).sum())(between)
            norm = (slope.square().sum(dim=(1, 2)) + 1e-12).sqrt()
        elif self.lipschitz == "slope":
            norm = (scores[:, -2] - scores[:, -1]) / (2 * STEP)
        else:
            return loss
        return loss + self.penalty_weight * (norm - 1).clamp(min=0).square()

    def free_losses(self, model: nn.Module, drawn: dict[str, Tensor]) -> Tensor:
        """Return D(G(z)) for each generated trajectory."""
        return _full(model(drawn["fake"])[:, 0])


def steepest(model: nn.Module, x: Tensor, *condition: Tensor) -> Tensor:
    """Unit vectors [rows, 2, L] along the gradient of the critic in ``x``; zero where the gradient is."""
    with bystander(model), torch.enable_grad():
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(_full(model(x, *condition)).sum(), x)
    return slope / slope.flatten(1).norm(dim=1).clamp(min=1e-12)[:, None, None]


def _full(scores: Tensor) -> Tensor:
    """In single precision at least, whatever the network computed in."""
    return scores.to(torch.promote_types(scores.dtype, torch.float32))


@torch.no_grad()
def project(model: nn.Module, bound: float) -> None:
    """Scale every weight matrix (a kernel as output channels x the rest) to a largest singular value of at most ``bound``."""
    for p in model.parameters():
        if p.dim() >= 2:
            if not bool(torch.isfinite(p).all()):
                raise RunFailedError("the critic's weights are no longer finite: lower critic_learning_rate")
            p.div_((torch.linalg.matrix_norm(p.flatten(1), ord=2) / bound).clamp(min=1.0))
