"""Write a study's report: ``results.csv``, ``claims.json``, ``report.ipynb``, ``report.html`` and ``figures/``, over whatever is complete."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pandas as pd

from trajkit.classical.prefix_experiments import ExperimentSettings
from trajkit.study.audit_text import verdicts
from trajkit.study.audits import RESULT, audit_folder, surprises
from trajkit.study.claims import as_json
from trajkit.study.folders import OUTPUTS, ROOT
from trajkit.study.identity import code_fingerprint
from trajkit.study.report_figures import save_figures
from trajkit.study.results import StudyResults
from trajkit.study.run import mark_figures_private
from trajkit.study.runner import execute
from trajkit.study.sequence_study import experiment_file
from trajkit.viz.figures import ALSO_SVG
from trajkit.yamlio import write_text

SENTINEL = "report complete"
SEAL = "report.json"
FIGURES = "figures"
# what report notebooks import; modules that these import count too
PRESENTING = (
    *("study.text", "study.ranking_text", "study.conditioning_text", "study.conditioning", "study.embedding_ablation"),
    *("study.sequence_text", "study.classical_text", "study.publish_text", "study.realism", "viz.sequences"),
    *(
        "study.anonymity_text",
        "study.anonymity_panels",
        "study.decisions",
        "study.risk",
        "study.two_releases",
        "study.adversaries",
        "viz.adversaries",
        "viz.frontier",
    ),
    *("study.audit_text", "study.user_cost", "viz.audits"),
    *("study.theorem_2_text", "study.stability", "study.threat", "study.costs", "study.curves", "study.tables"),
    *("viz.plots", "viz.curves", "viz.ranks", "viz.threat", "viz.stability", "viz.mechanisms"),
)


def build_report(folder: Path) -> None:
    """Write the report into ``folder``; its seal is written last. Holes are shown, never filled.

    Raises RunFailedError when the report notebook itself fails.
    """
    (folder / SEAL).unlink(missing_ok=True)
    study = StudyResults(folder)
    table = pd.concat([t for t in (study.results, study.tiny) if len(t)] or [study.results], ignore_index=True)
    table = table if study.may_show_raw else table.drop(columns=["n_train", "n_test"])
    write_text(folder / "results.csv", table.to_csv(index=False))
    write_text(folder / "claims.json", json.dumps(as_json(study.verdicts()), indent=1))
    if study.audits:
        write_text(folder / "audits.csv", verdicts(study).to_csv(index=False))
    if study.plan["private"]:
        mark_figures_private(folder)
    if study.plan["report"]:
        notebook = folder / "report.ipynb"
        template = ROOT / "notebooks" / f"{study.plan['report']}.ipynb"
        execute(template, notebook, {"study_dir": str(folder)}, SENTINEL, environment={ALSO_SVG: "1"})
        save_figures(notebook, folder / FIGURES)
        if study.plan["private"]:
            mark_figures_private(folder / FIGURES)
        write_text(folder / "report.html", to_html(notebook))
    told = surprises(study.plan.get("audits", []), study.audits)
    write_text(folder / SEAL, json.dumps({"identity": _identity(folder), "surprises": told}))


def report_is_current(folder: Path) -> bool:
    """Whether the report in ``folder`` was made from exactly this plan, these runs and this code."""
    seal, plan = folder / SEAL, json.loads((folder / "plan.json").read_text())
    promised = ["results.csv", "claims.json"]
    promised += ["report.html", "report.ipynb"] if plan["report"] else []
    figures = not plan["report"] or (folder / FIGURES).is_dir()
    promised += ["audits.csv"] if plan.get("audits") else []
    there = figures and seal.is_file() and all((folder / name).is_file() for name in promised)
    return there and json.loads(seal.read_text())["identity"] == _identity(folder)


def unexpected(folder: Path) -> list[str]:
    """What the audits of the study did not show as their params expect, one sentence each, as the report's seal says."""
    found: list[str] = json.loads((folder / SEAL).read_text())["surprises"]
    return found


# nbconvert's own template knows no descriptions of pictures
DESCRIBED = """{%- extends "index.html.j2" -%}
{%- block data_png scoped -%}
<div class="jp-RenderedImage jp-OutputArea-output {{ extra_class }}">
<img alt="{{ output | get_metadata("alt", "image/png") | escape_html }}" src="data:image/png;base64,{{ output.data["image/png"] | escape_html }}">
</div>
{%- endblock data_png -%}
"""


def to_html(notebook: Path) -> str:
    """Render an executed notebook as one page that needs no network: no input cells, described images inside, no outside scripts."""
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(
        exclude_input=True,
        exclude_output_prompt=True,
        exclude_input_prompt=True,
        embed_images=True,
        raw_template=DESCRIBED,
    )
    exporter.mathjax_url = exporter.require_js_url = exporter.jquery_url = exporter.mermaid_js_url = ""
    body, _ = exporter.from_filename(str(notebook))
    return body


def _identity(folder: Path) -> str:
    plan = json.loads((folder / "plan.json").read_text())
    template = ROOT / "notebooks" / f"{plan['report']}.ipynb"
    parts: dict[str, Any] = {
        "plan": plan,
        "sequences": bool(plan.get("sequences")) and experiment_file(ExperimentSettings(**plan["sequences"])).is_file(),
        "audits": [(audit_folder(a["audit_id"]) / RESULT).is_file() for a in plan.get("audits", [])],
        "done": [(OUTPUTS / "runs" / r["run_id"] / "manifest.json").is_file() for r in plan["runs"]],
        "template": template.read_text() if plan["report"] else "",
        "claims": (ROOT / "params" / "claims.yaml").read_text(),
        "code": [code_fingerprint(f"trajkit.{m}", presenting=True) for m in PRESENTING],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
