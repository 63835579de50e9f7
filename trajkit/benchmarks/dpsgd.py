"""A DP-SGD step against the plain step at the same batch, for every model: time, where it goes, and memory, on one thread."""

from __future__ import annotations

import multiprocessing
import statistics
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import psutil
import torch
from opacus.grad_sample import GradSampleModule
from torch import Tensor, nn

from trajkit.benchmarks import BenchRow
from trajkit.deep.autotune import seconds_per_record
from trajkit.deep.critic import CriticLoss, Lipschitz
from trajkit.deep.ddpm import Denoising, alphas_bar
from trajkit.deep.engines import Engine, Functional, Losses, make_engine, of_records, trainable
from trajkit.deep.grad_sample import clip
from trajkit.deep.halves import Decoder, Encoder, decoder_sizes
from trajkit.deep.memory import keep_freed_memory
from trajkit.deep.objective import Objective
from trajkit.deep.unet import COORDINATES, Sizes, UNet
from trajkit.deep.vae import Autoencoder, Elbo

SIZES, LENGTH, RECORDS, LATENT = Sizes(16, (1, 2, 2, 2), 1, 8), 64, 128, 8
REPEATS = 5
CLIP, SIGMA = 0.1, 1.0


def _diffusion(draws: int) -> tuple[nn.Module, Objective]:
    return UNet(SIZES), Denoising(alphas_bar("linear", 300), (COORDINATES, LENGTH), draws=draws, prediction="velocity")


def _vae() -> tuple[nn.Module, Objective]:
    decoder = Decoder(decoder_sizes(SIZES, LENGTH, LATENT), LENGTH, LATENT)
    objective = Elbo(LATENT, kl_weight=1e-3, warmup_steps=0, draws=1)
    return Autoencoder(Encoder(SIZES, LENGTH, 2 * LATENT), decoder), objective


def _critic(lipschitz: Lipschitz) -> tuple[nn.Module, Objective]:
    generator = Decoder(decoder_sizes(SIZES, LENGTH, LATENT), LENGTH, LATENT)
    objective = CriticLoss(generator, LATENT, pool=RECORDS, seed=0, lipschitz=lipschitz, penalty_weight=10.0)
    objective.begin_step(0)
    return Encoder(SIZES, LENGTH, 1), objective


CASES: dict[str, Callable[[], tuple[nn.Module, Objective]]] = {
    "diffusion": lambda: _diffusion(1),
    "diffusion, 4 draws a record": lambda: _diffusion(4),
    "VAE": _vae,
    "GAN critic, penalty": lambda: _critic("penalty"),
    "GAN critic, slope": lambda: _critic("slope"),
}


def rows() -> list[BenchRow]:
    """Measure every case; for the diffusion model also the other ways to per-record gradients and the physical batch."""
    keep_freed_memory()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        measured = [row for name in CASES for row in _against_plain(name)]
        return [*measured, *_other_ways(), *_physical_batch(), *_memory()]
    finally:
        torch.set_num_threads(threads)


def _against_plain(name: str) -> list[BenchRow]:
    plain, private = (_median(Step(name, private=p).run) for p in (False, True))
    label = f"{name}, batch {RECORDS}"
    return [
        BenchRow(f"plain step, {label}", plain, "s"),
        BenchRow(f"DP-SGD step, {label}", private, "s"),
        BenchRow(f"DP-SGD step, {label}", private / plain, "times", "plain step"),
    ]


def _other_ways() -> list[BenchRow]:
    """Opacus' hooks and torch.func on the diffusion model."""
    plain = _median(Step("diffusion", private=False).run)
    functional, opacus = (
        Step("diffusion", private=True, engine=Functional),
        Step("diffusion", private=True, engine=Opacus),
    )
    label = f"diffusion, batch {RECORDS}"
    return [
        BenchRow(f"torch.func step, {label}", _median(functional.run) / plain, "times", "plain step"),
        BenchRow(f"Opacus hooks step, {label}", _median(opacus.run) / plain, "times", "plain step"),
    ]


def _physical_batch() -> list[BenchRow]:
    found = []
    for words, private in (("plain", False), ("DP-SGD", True)):
        step = Step("diffusion", private=private)
        seconds = seconds_per_record(step.engine, step.objective, step.batch.repeat(2, 1, 1))
        best = min(seconds, key=seconds.__getitem__)
        found += [
            BenchRow(f"fastest physical batch, {words}, diffusion", best, "records"),
            BenchRow(f"its gradients, {words}, diffusion", 1e3 * seconds[best], "ms/record"),
        ]
    return found


def _memory() -> list[BenchRow]:
    label = f"diffusion, batch {RECORDS}"
    return [
        BenchRow(f"{words} step, peak memory it adds, {label}", _peak_mb(private), "MB")
        for words, private in (("plain", False), ("DP-SGD", True))
    ]


class Opacus:
    """Per-record gradients by Opacus' own hooks, for comparison."""

    def __init__(self, model: nn.Module, max_grad_norm: float) -> None:
        self.network, self.max_grad_norm = GradSampleModule(model, loss_reduction="sum"), max_grad_norm
        self.parameters = trainable(model)

    def summed(
        self, losses: Losses, inputs: dict[str, Tensor], counts: Tensor, *, draws: int | None = None
    ) -> tuple[Tensor, list[Tensor], Tensor]:
        """As `trajkit.deep.engines.Engine`."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Full backward hook is firing")
            values = losses(self.network, inputs) * counts
            values.sum().backward()
        samples = [p.grad_sample for p in self.parameters]  # type: ignore[attr-defined]
        for p in self.parameters:
            p.grad_sample, p.grad = None, None  # type: ignore[attr-defined]
        return values.detach(), *clip(samples, self.max_grad_norm)

    def close(self) -> None:
        """Nothing to do."""


class Step:
    """One step of a case on a fixed batch."""

    def __init__(self, name: str, *, private: bool, engine: Callable[[nn.Module, float], Engine] | None = None) -> None:
        torch.manual_seed(0)
        self.model, self.objective = CASES[name]()
        self.model.train()
        bound = CLIP if private else None
        self.engine = (
            engine(self.model, CLIP)
            if engine
            else make_engine(
                self.model, draws=self.objective.draws, second_order=self.objective.second_order, max_grad_norm=bound
            )
        )
        self.private = private
        self.batch = torch.rand(RECORDS, COORDINATES, LENGTH) * 2 - 1
        self.drawn = self.objective.draw(RECORDS, torch.Generator().manual_seed(0))
        self.weights = trainable(self.model)
        self.optimizer = torch.optim.AdamW(self.weights, lr=1e-3, fused=True)

    def run(self) -> None:
        """Gradients, noise where it is private, update."""
        inputs = {"record": self.batch, **self.drawn}
        _, total, _ = self.engine.summed(of_records(self.objective), inputs, torch.ones(len(self.batch)))
        for p, gradient in zip(self.weights, total, strict=True):
            if self.private:
                gradient += CLIP * SIGMA * torch.randn_like(gradient)
            p.grad = gradient / RECORDS
        self.optimizer.step()
        self.optimizer.zero_grad()


def _median(function: Callable[[], None]) -> float:
    function()
    values = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        values.append(time.perf_counter() - start)
    return statistics.median(values)


def _peak_mb(private: bool) -> float:
    """Peak resident memory that one step adds, in MB, sampled every millisecond in a fresh process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_step_memory_mb, private).result()


def _step_memory_mb(private: bool) -> float:
    torch.set_num_threads(1)
    keep_freed_memory()
    step = Step("diffusion", private=private)
    process, stop = psutil.Process(), threading.Event()
    before = process.memory_info().rss
    peak = [before]

    def watch() -> None:
        while not stop.wait(0.001):
            peak[0] = max(peak[0], process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    step.run()
    stop.set()
    watcher.join()
    return (peak[0] - before) / 1e6
