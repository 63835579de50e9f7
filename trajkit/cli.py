"""The command line: ``python -m trajkit COMMAND``, which is what the Makefile calls.

Commands import what they need when they run, so that ``--help`` is quick. An error that the kit raises on purpose is
printed as one message without a traceback (exit code 2); anything else is a bug and keeps its traceback.
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Annotated

import typer

from trajkit.errors import DISK_FULL, TrajkitError

app = typer.Typer(
    name="trajkit",
    help="Publish location trajectories privately, and measure honestly what it costs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

EXIT_USER_ERROR = 2


Question = Annotated[str, typer.Argument(help="which question, e.g. rq1: reads params/rq1.yaml")]
Profile = Annotated[str, typer.Option(help="smoke, quick, full or paper")]
DataSet = Annotated[str, typer.Option(help="name of a registered data set")]
Data = Annotated[str | None, typer.Option(help="file or folder that holds the data set")]
Seeds = Annotated[int | None, typer.Option(help="number of seeds, instead of the profile's")]
Jobs = Annotated[int | None, typer.Option(help="runs side by side, instead of as many as fit")]
Executor = Annotated[str, typer.Option(help="where runs are done: local or slurm")]
Gpus = Annotated[int, typer.Option(min=0, help="GPUs to hold for it alone")]
Attempt = Annotated[int, typer.Option(min=1, help="which try of the scheduler this is")]


@app.command()
def study(
    question: Question,
    profile: Profile = "quick",
    dataset: DataSet = "city",
    data: Data = None,
    seeds: Seeds = None,
    jobs: Jobs = None,
    executor: Executor = "local",
) -> None:
    """Answer one question end to end: every run that is missing, then the report."""
    from trajkit.study.workflow import run_study

    code = run_study(question, profile=profile, dataset=dataset, data=data, seeds=seeds, jobs=jobs, executor=executor)
    raise typer.Exit(code)


@app.command("sweep-plan")
def sweep_plan(
    question: Question,
    profile: Profile = "paper",
    dataset: DataSet = "city",
    data: Data = None,
    seeds: Seeds = None,
    device: Annotated[str | None, typer.Option(help="what the hours are for: h200, h100, a100, l40s, t4")] = None,
    efficiency: Annotated[float, typer.Option(help="share of the device's peak that is assumed")] = 0.4,
) -> None:
    """Print jobs, GPU hours and memory of a study before anything is submitted."""
    from trajkit.study.sweep import print_plan

    found = print_plan(
        question, profile=profile, dataset=dataset, data=data, seeds=seeds, device=device, efficiency=efficiency
    )
    raise typer.Exit(found)


@app.command("sweep-resume")
def sweep_resume(
    cancel: Annotated[bool, typer.Option(help="cancel the jobs that are still in the queue first")] = False,
) -> None:
    """Go on with the last sweep on a cluster: its jobs in the queue are waited for, or cancelled; nothing runs twice."""
    from trajkit.study.sweep import resume

    raise typer.Exit(resume(cancel=cancel))


@app.command()
def run(
    params: Annotated[Path, typer.Argument(help="params.yaml of one run")], gpus: Gpus = 0, attempt: Attempt = 1
) -> None:
    """Do one run of a study: check the parameters, execute the notebook, check what it left."""
    from trajkit.study.runner import run_file

    raise typer.Exit(run_file(params, gpus=gpus, attempt=attempt))


@app.command()
def audit(
    params: Annotated[Path, typer.Argument(help="params.yaml of one audit")], gpus: Gpus = 0, attempt: Attempt = 1
) -> None:
    """Do one audit of a study."""
    from trajkit.study.audits import run_audit

    raise typer.Exit(run_audit(params, gpus=gpus, attempt=attempt))


@app.command()
def release(
    method: Annotated[str, typer.Argument(help="name of a method with a guarantee, e.g. road_counts or k_anonymity")],
    out: Annotated[Path, typer.Option(help="new folder for what may leave")],
    data: Annotated[str | None, typer.Option(help="file or folder that holds the data set")] = None,
    dataset: Annotated[str | None, typer.Option(help="name of a registered data set, instead of your table")] = None,
    params: Annotated[Path | None, typer.Option(help="YAML file with the method's parameters")] = None,
    epsilon: Annotated[float | None, typer.Option(help="what this release may cost")] = None,
    k: Annotated[int | None, typer.Option(help="how many stand together (anonymizers)")] = None,
    n: Annotated[int, typer.Option(help="trajectories to release (not of anonymizers), a public number")] = 1000,
    cap: Annotated[float | None, typer.Option(help="epsilon of all releases of this data together")] = None,
    cap_delta: Annotated[float | None, typer.Option(help="delta of all of them")] = None,
    cap_unit: Annotated[str | None, typer.Option(help="trajectory or user: whose total is capped")] = None,
    raise_cap: Annotated[bool, typer.Option(help="a larger cap than before is meant")] = False,
    most_trips: Annotated[int | None, typer.Option(help="public bound on the trajectories of a user")] = None,
    ledger: Annotated[Path | None, typer.Option(help="folder of the budget ledger, instead of beside the data")] = None,
    account: Annotated[str | None, typer.Option(help="book this version of the data on that account")] = None,
    purpose: Annotated[str, typer.Option(help="what the release is for, for its page", envvar="TRAJKIT_PURPOSE")] = "",
    figures: Annotated[bool, typer.Option(help="rounded shares, not covered, on the page of a DP release too")] = False,
) -> None:
    """Release DATA by METHOD to OUT, with noise from the operating system, and enter it in the budget ledger."""
    from trajkit.handover.command import run_release

    budget = {"folder": ledger, "cap": cap, "cap_delta": cap_delta, "cap_unit": cap_unit, "raise_cap": raise_cap}
    budget |= {"most_trips": most_trips, "account": account}
    given = {"epsilon": epsilon, "k": k}
    code = run_release(
        method, out, data=data, dataset=dataset, params=params, given=given, budget=budget, n=n, purpose=purpose, figures=figures
    )  # fmt: skip
    raise typer.Exit(code)


@app.command()
def assess(
    data: Annotated[str | None, typer.Option(help="file or folder that holds the data set")] = None,
    dataset: Annotated[str | None, typer.Option(help="name of a registered data set, instead of your table")] = None,
    k: Annotated[int, typer.Option(min=2, help="how many should stand together")] = 5,
    tolerance: Annotated[float, typer.Option(min=0, max=1, help="share that may be lost to suppression")] = 0.3,
) -> None:
    """Assess DATA before any method: what it is, who is exposed, what methods would lose, what to take. Private."""
    from trajkit.handover.command import run_assess

    raise typer.Exit(run_assess(data=data, dataset=dataset, k=k, tolerance=tolerance))


@app.command()
def dpia(
    method: Annotated[str, typer.Argument(help="name of the method that is planned")],
    data: Annotated[str | None, typer.Option(help="file or folder that holds the data set")] = None,
    dataset: Annotated[str | None, typer.Option(help="name of a registered data set, instead of your table")] = None,
    params: Annotated[Path | None, typer.Option(help="YAML file with the method's parameters")] = None,
    epsilon: Annotated[float | None, typer.Option(help="what the release may cost")] = None,
    k: Annotated[int | None, typer.Option(help="how many stand together (anonymizers)")] = None,
    n: Annotated[int, typer.Option(help="trajectories to release (not of anonymizers)")] = 1000,
    purpose: Annotated[str, typer.Option(help="what the release is for", envvar="TRAJKIT_PURPOSE")] = "",
    ledger: Annotated[Path | None, typer.Option(help="folder of the budget ledger, instead of beside the data")] = None,
) -> None:
    """Record of risks of a planned release: rehearsed on part of the people, attacked before and after. Private; costs no budget."""
    from trajkit.handover.command import run_dpia

    given = {"epsilon": epsilon, "k": k}
    code = run_dpia(method, data=data, dataset=dataset, params=params, given=given, purpose=purpose, n=n, ledger=ledger)
    raise typer.Exit(code)


@app.command()
def doctor() -> None:
    """Print versions, kernel, accelerator and data found, and what to do about each problem."""
    from trajkit.doctor import main as report

    raise typer.Exit(report())


@app.command()
def bench() -> None:
    """Measure speeds, ratios and peak memory; one page, and outputs/bench.json."""
    from trajkit.bench import main as measure

    raise typer.Exit(measure())


@app.command("gpu-check")
def gpu_check() -> None:
    """Compare the GPU with the CPU; says so where there is no GPU."""
    from trajkit.deep.gpu_check import main as check

    raise typer.Exit(check())


def main() -> None:
    """Run the command line; errors meant for the reader, a full disk among them, become one message on stderr."""
    try:
        app()
    except TrajkitError as error:
        _stop(str(error))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _stop(DISK_FULL)


def _stop(message: str) -> None:
    print(f"trajkit: {message}", file=sys.stderr)
    sys.exit(EXIT_USER_ERROR)
