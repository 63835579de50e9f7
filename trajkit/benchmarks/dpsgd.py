"""A DP-SGD step against the plain step at the same batch: time, where it goes, and memory, on one thread."""

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
from trajkit.deep.ddpm import Denoising, alphas_bar
from trajkit.deep.grad_sample import RecordGradients, clipped_sum
from trajkit.deep.memory import keep_freed_memory
from trajkit.deep.unet import COORDINATES, Sizes, UNet

SIZES, LENGTH, RECORDS = Sizes(16, (1, 2, 2, 2), 1, 8), 64, 64
REPEATS = 5
CLIP, SIGMA = 0.1, 1.0
PARTS = ("forward", "backward with per-record gradients", "norms, clipping and sum", "noise", "optimizer")


def rows() -> list[BenchRow]:
    """Measure at 1 and at 4 diffusion draws a record."""
    keep_freed_memory()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [row for draws in (1, 4) for row in _at(draws)]
    finally:
        torch.set_num_threads(threads)


def _at(draws: int) -> list[BenchRow]:
    label = f"batch {RECORDS}, {draws} draw(s) a record"
    plain, private, opacus = Step(draws), Step(draws, RecordGradients), Step(draws, GradSampleModule)
    seconds = {name: _median(step.run) for name, step in (("plain", plain), ("private", private), ("opacus", opacus))}
    parts = private.parts()
    memory = {name: _peak_mb(draws, name == "DP-SGD") for name in ("plain", "DP-SGD")}
    return [
        BenchRow(f"plain step, {label}", seconds["plain"], "s"),
        BenchRow(f"DP-SGD step, {label}", seconds["private"], "s"),
        BenchRow(f"DP-SGD step, {label}", seconds["private"] / seconds["plain"], "times", "plain step"),
        BenchRow(f"Opacus hooks step, {label}", seconds["opacus"] / seconds["plain"], "times", "plain step"),
        *(BenchRow(f"DP-SGD {name}, {label}", value, "s") for name, value in parts.items()),
        *(BenchRow(f"{name} step, peak memory it adds, {label}", mb, "MB") for name, mb in memory.items()),
    ]


class Step:
    """One step of the quick network on a fixed batch, by autograd alone or with a per-record wrapper."""

    def __init__(self, draws: int, wrapper: Callable[..., nn.Module] | None = None) -> None:
        torch.manual_seed(0)
        self.model = UNet(SIZES).train()
        self.wrapper, self.draws = wrapper, draws
        if wrapper is RecordGradients:
            self.network: nn.Module = RecordGradients(self.model, draws=draws)
        else:
            self.network = wrapper(self.model, loss_reduction="sum") if wrapper else self.model
        self.objective = Denoising(alphas_bar("linear", 300), (COORDINATES, LENGTH), draws=draws)
        self.batch = torch.rand(RECORDS, COORDINATES, LENGTH) * 2 - 1
        self.drawn = self.objective.draw(RECORDS, torch.Generator().manual_seed(0))
        self.weights = list(self.model.parameters())
        self.optimizer = torch.optim.AdamW(self.weights, lr=1e-3, fused=True)

    def run(self) -> None:
        """The whole step."""
        self.backward(self.forward())
        total = self.clip() if self.wrapper else [p.grad for p in self.weights if p.grad is not None]
        if self.wrapper:
            self.noise(total)
        self.update(total)

    def parts(self) -> dict[str, float]:
        """Median seconds of each part of the step."""
        spent: dict[str, list[float]] = {}
        for _ in range(REPEATS):
            clock = [time.perf_counter()]
            losses = self.forward()
            clock.append(time.perf_counter())
            self.backward(losses)
            clock.append(time.perf_counter())
            total = self.clip()
            clock.append(time.perf_counter())
            self.noise(total)
            clock.append(time.perf_counter())
            self.update(total)
            clock.append(time.perf_counter())
            for name, start, end in zip(PARTS, clock, clock[1:], strict=False):
                spent.setdefault(name, []).append(end - start)
        return {name: statistics.median(values) for name, values in spent.items()}

    def forward(self) -> Tensor:
        """The loss of each record."""
        return self.objective.losses(self.network, self.batch, self.drawn)

    def backward(self, losses: Tensor) -> None:
        """Gradients of all weights, per record where there is a wrapper."""
        if isinstance(self.network, RecordGradients):
            self.network.backward(losses)
        else:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Full backward hook is firing")
                losses.sum().backward()

    def clip(self) -> list[Tensor]:
        """The clipped sum; Opacus' rows are draws, which a record sums before clipping."""
        if self.wrapper is GradSampleModule and self.draws > 1:
            for p in self.weights:
                p.grad_sample = p.grad_sample.unflatten(0, (-1, self.draws)).sum(1)  # type: ignore[attr-defined]
        return clipped_sum(self.weights, CLIP)[0]

    def noise(self, total: list[Tensor]) -> None:
        """Add Gaussian noise."""
        for gradient in total:
            gradient += CLIP * SIGMA * torch.randn_like(gradient)

    def update(self, total: list[Tensor]) -> None:
        """AdamW."""
        for p, gradient in zip(self.weights, total, strict=True):
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


def _peak_mb(draws: int, private: bool) -> float:
    """Peak resident memory that one step adds, in MB, sampled every millisecond in a fresh process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_step_memory_mb, draws, private).result()


def _step_memory_mb(draws: int, private: bool) -> float:
    torch.set_num_threads(1)
    keep_freed_memory()
    step = Step(draws, RecordGradients if private else None)
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
