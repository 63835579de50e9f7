"""The training loop of every deep generator, and the DP-SGD step (Abadi et al. 2016), here and nowhere else.

A step draws each record independently with probability q (Poisson sampling), sums the records' gradients, each clipped
to norm C, adds Gaussian noise of standard deviation sigma * C and divides by the fixed q * n. An empty draw is a step of
noise alone. The regimes differ in one thing at a time: plain neither clips nor adds noise, clipped only clips.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trajkit.deep.autotune import fastest_physical_batch
from trajkit.deep.batches import padded, placed, poisson_sample, taken
from trajkit.deep.checkpoint import load_checkpoint, save_checkpoint
from trajkit.deep.engines import adamw, check_single_device, make_engine, of_records, trainable
from trajkit.deep.memory import keep_freed_memory
from trajkit.deep.objective import Companion, Objective
from trajkit.deep.progress import Progress
from trajkit.deep.stop import stop_requests
from trajkit.deep.train_settings import TrainRecord, TrainSettings, Window
from trajkit.errors import CheckpointError, PrivacyAccountingError, RunFailedError, StoppedError
from trajkit.seeds import child_seed

LOG_POINTS = 200


class Trainer:
    """Trains ``model`` on ``records`` [n, ...]; after `run`, ``ema`` holds the averaged weights and ``ledger`` what was spent.

    ``identity`` names the training (a hash of parameters, seed, data): a checkpoint of another one is refused.
    Raises ParameterError for a model that cannot be trained record by record or lives on several devices.
    """

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        records: Tensor,
        settings: TrainSettings,
        *,
        seed: int,
        identity: str,
        device: torch.device | str = "cpu",
        checkpoint: Path | None = None,
        companion: Companion | None = None,
    ) -> None:
        check_single_device(model)
        self.device = torch.device(device)
        self.settings, self.objective, self.identity, self.checkpoint = settings, objective, identity, checkpoint
        self.records = placed(records, self.device, settings.records_on)
        self.model = model.to(self.device).train()
        self.companion = companion
        self.engine = make_engine(
            self.model,
            draws=objective.draws,
            second_order=objective.second_order,
            max_grad_norm=None if settings.regime == "plain" else settings.max_grad_norm,
            compiled=settings.compile,
        )
        self.parameters = trainable(self.model)
        self.optimizer = adamw(
            self.parameters,
            learning_rate=settings.learning_rate,
            betas=settings.betas,
            weight_decay=settings.weight_decay,
        )
        self.ema = [p.detach().clone() for p in self.parameters]
        self.physical_batch = settings.physical_batch
        self.finalised = False
        self.step = 0
        self.ledger = {
            "sample_rate": settings.sample_rate,
            "noise_multiplier": settings.noise_multiplier,
            "max_grad_norm": settings.max_grad_norm,
            "steps": 0,
        }
        self.record = TrainRecord()
        self.generators = _generators(settings, seed, self.device)
        self._window = Window()
        self.after_step: Callable[[int], None] = lambda step: None

    @property
    def expected_batch(self) -> float:
        """q * n, the fixed number that the summed gradient is divided by."""
        return self.settings.sample_rate * len(self.records)

    def run(self, *, progress: bool = False) -> None:
        """Train to the last step, from the checkpoint where there is one.

        Raises RunFailedError when the loss is not finite, CheckpointError for a checkpoint that does not fit,
        PrivacyAccountingError when steps taken and steps accounted differ, StoppedError after a signal to stop (`trajkit.deep.stop`).
        """
        if self.checkpoint is not None and self.checkpoint.exists():
            self._restore(load_checkpoint(self.checkpoint, identity=self.identity))
        if self.device.type == "cpu":
            keep_freed_memory()
        if self.physical_batch is None:
            self.objective.begin_step(self.step)
            self.physical_batch = fastest_physical_batch(self.engine, self.objective, self.records, self._losses)
        saved = time.monotonic()
        exact = torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True)
        with exact, stop_requests() as stop, Progress(self.settings.steps, done=self.step, show=progress) as bar:
            while self.step < self.settings.steps:
                n, loss = self._take_step()
                bar.advance(n * self.objective.draws, loss)
                last = stop.asked  # once: what is said at the end must be saved
                due = last or time.monotonic() - saved >= self.settings.checkpoint_every_s
                if self.checkpoint is not None and (due or self.step == self.settings.steps):
                    save_checkpoint(self.checkpoint, self._state())
                    saved = time.monotonic()
                self.after_step(self.step)
                if last:
                    raise StoppedError(f"stopped by a signal at step {self.step} of {self.settings.steps}")
        if self.ledger["steps"] != self.settings.steps or self.step != self.settings.steps:
            raise PrivacyAccountingError(
                f"{self.step} steps were taken, {self.ledger['steps']} accounted, {self.settings.steps} planned: nothing may be released"
            )

    def load_ema(self) -> nn.Module:
        """Copy the averaged weights into the model, free it of hooks and return it in evaluation mode."""
        self.engine.close()
        with torch.no_grad():
            for p, average in zip(self.parameters, self.ema, strict=True):
                p.copy_(average)
                p.grad = None
        return self.model.eval()

    # ---- one step -----------------------------------------------------------------------------------------------

    def _take_step(self) -> tuple[int, float]:
        started = time.monotonic()
        self.objective.begin_step(self.step)
        index = poisson_sample(len(self.records), self.settings.sample_rate, self.generators["sampler"])
        drawn = self.objective.draw(len(index), self.generators["draws"])
        total, loss, norms = self._summed_gradient(index, drawn)
        free, free_loss = self._free_gradient()
        self._apply(total, free)
        self.objective.end_step(self.model)
        self.step += 1
        self.ledger["steps"] += 1
        if self.companion is not None:
            self.companion.after_step(self.step, self)
        loss += free_loss
        self._log(len(index), loss, norms, time.monotonic() - started)
        return len(index), loss

    def _summed_gradient(self, index: Tensor, drawn: dict[str, Tensor]) -> tuple[list[Tensor], float, Tensor]:
        """Sum over the sampled records of their (clipped) gradients, in physical batches; mean loss; norms before clipping."""
        total = [torch.zeros_like(p) for p in self.parameters]
        loss, norms = 0.0, []
        size = self.physical_batch or len(index)
        for start in range(0, len(index), size):
            n = min(size, len(index) - start)
            rows, counts = padded(start, n)
            inputs = {"record": taken(self.records, index[rows], self.device)}
            inputs |= {k: v[rows].to(self.device) for k, v in drawn.items()}
            losses, gradients, norm = self.engine.summed(self._losses, inputs, counts.to(self.device))
            loss += float(losses.sum())
            norms.append(norm[:n])
            torch._foreach_add_(total, gradients)
        return total, loss / max(len(index), 1), torch.cat(norms) if norms else torch.zeros(0)

    def _losses(self, network: nn.Module, inputs: dict[str, Tensor]) -> Tensor:
        with self.precision():
            return of_records(self.objective)(network, inputs)

    def _free_losses(self, network: nn.Module, inputs: dict[str, Tensor]) -> Tensor:
        with self.precision():
            return self.objective.free_losses(network, inputs)

    def _free_gradient(self) -> tuple[list[Tensor] | None, float]:
        """Sum over the rows that hold no record, each clipped as a record is, in proportion to the expected batch; mean loss."""
        rows = self.objective.free_rows
        if not rows:
            return None, 0.0
        drawn = {k: v.to(self.device) for k, v in self.objective.draw_free(self.generators["draws"]).items()}
        losses, gradients, _ = self.engine.summed(
            self._free_losses, drawn, torch.ones(rows, device=self.device), draws=1
        )
        return list(torch._foreach_mul(gradients, self.expected_batch / rows)), float(losses.mean())

    def precision(self) -> AbstractContextManager[Any]:
        """The arithmetic of forward and backward passes. What is clipped, summed and noised is in single precision either way."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.settings.bf16)

    def _apply(self, total: list[Tensor], free: list[Tensor] | None = None) -> None:
        """Add the noise, then what needs none, divide by the expected batch, update the weights and their average."""
        if self.settings.regime == "private":
            std = self.settings.noise_multiplier * self.settings.max_grad_norm
            for gradient in total:
                gradient += std * torch.randn(  # the noise of DP-SGD
                    gradient.shape, generator=self.generators["noise"], device=self.device
                )
        if free is not None:
            torch._foreach_add_(total, free)
        for p, gradient in zip(self.parameters, total, strict=True):
            p.grad = gradient / self.expected_batch
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate * schedule(self.step, self.settings)
        self.optimizer.step()
        decay = min(self.settings.ema_decay, (1 + self.step) / (10 + self.step))
        torch._foreach_lerp_(self.ema, [p.detach() for p in self.parameters], 1 - decay)
        for p in self.parameters:
            p.grad = None

    def _log(self, n: int, loss: float, norms: Tensor, seconds: float) -> None:
        window = self._window
        self.record.empty_batches += n == 0
        self.record.examples += n
        if not math.isfinite(loss):
            self._close_window()
            tail = ", ".join(f"{s}: {v:.4g}" for s, v in zip(self.record.step[-5:], self.record.loss[-5:], strict=True))
            raise RunFailedError(
                f"the loss is {loss} at step {self.step} of {self.settings.steps} (before: {tail or 'nothing logged yet'}): "
                "lower learning_rate or max_grad_norm"
            )
        window.n += n
        window.loss += loss * n
        window.seconds += seconds
        window.clipped += int((norms > self.settings.max_grad_norm).sum())
        window.norm += float(norms.sum())
        every = max(1, self.settings.steps // LOG_POINTS)
        if self.step % every == 0 or self.step == self.settings.steps:
            self._close_window()

    def _close_window(self) -> None:
        """Log what the steps since the last line had in common; nothing where they drew no record."""
        window, r, n_window = self._window, self.record, self._window.n
        if n_window == 0:
            return
        r.step.append(self.step)
        r.loss.append(window.loss / n_window)
        r.seconds.append((r.seconds[-1] if r.seconds else 0.0) + window.seconds)
        if self.settings.regime != "plain":
            r.clipped_share.append(window.clipped / n_window)
            r.grad_norm.append(window.norm / n_window)
        self._window = Window()

    # ---- state --------------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "steps": self.settings.steps,
            "identity": self.identity,
            "model": self.model.state_dict(),
            "ema": self.ema,
            "optimizer": self.optimizer.state_dict(),
            "ledger": dict(self.ledger),
            "generators": {name: g.get_state() for name, g in self.generators.items()},
            "record": {**vars(self.record), "window": vars(self._window)},
            "physical_batch": self.physical_batch,
            "companion": self.companion.state() if self.companion is not None else None,
            "complete": False,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.ema = [e.to(self.device) for e in state["ema"]]
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.ledger = state["step"], dict(state["ledger"])
        if self.physical_batch is None:
            self.physical_batch = state["physical_batch"]
        if self.companion is not None:
            self.companion.restore(state["companion"])
        self.finalised = state["generators"] is None
        if self.finalised and self.step < self.settings.steps:
            raise CheckpointError(
                f"{self.checkpoint} is final at step {self.step}, its sampler and noise state are deleted: it cannot go on to step "
                f"{self.settings.steps}; delete the file to train from the start"
            )
        if not self.finalised:
            for name, generator in self.generators.items():
                generator.set_state(state["generators"][name])
        if state["record"] is not None:
            values = dict(state["record"])
            self._window = Window(**values.pop("window"))
            self.record = TrainRecord(**values)


def schedule(step: int, settings: TrainSettings) -> float:
    """Factor on the learning rate: a linear rise over the first ``warmup_steps``, then constant or half a cosine to zero."""
    rise = settings.warmup_steps
    if step < rise:
        return (step + 1) / rise
    if settings.decay == "constant":
        return 1.0
    return 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1, settings.steps - rise)))


def _generators(settings: TrainSettings, seed: int, device: torch.device) -> dict[str, torch.Generator]:
    """The sampler's and the draws' generators on the CPU (the same on every device), the noise's on the device."""
    seeds = {
        "sampler": child_seed(seed, "sampler"),
        "draws": child_seed(seed, "noise", "draws"),
        "noise": child_seed(seed, "noise", "dp-sgd"),
    }
    if settings.noise_source == "os":
        seeds |= {"sampler": secrets.randbits(63), "noise": secrets.randbits(63)}
    return {
        name: torch.Generator(device=device if name == "noise" else "cpu").manual_seed(value)
        for name, value in seeds.items()
    }
