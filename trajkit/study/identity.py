"""Ids of runs: a hash of everything that decides the result, code included, so that a stale result cannot be mistaken for a fresh one."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from trajkit.methods import METHODS, method_class
from trajkit.study.folders import ROOT
from trajkit.study.run_config import RunConfig

# parts that present results but do not make them
_NOT_RESULTS = (
    "trajkit.study",
    "trajkit.methods",
    "trajkit.errors",
    "trajkit.viz",
    "trajkit.cli",
    "trajkit.doctor",
    "trajkit.benchmarks",
    "trajkit.bench",
)


def template_of(method: str) -> Path:
    """The notebook that runs ``method``: ``notebooks/method-<name>.ipynb`` where it exists, else the one its class names as ``TEMPLATE``."""
    own = ROOT / "notebooks" / f"method-{method}.ipynb"
    if own.is_file():
        return own
    name = _only_template(METHODS.get(method, "").partition(":")[0]) or getattr(
        method_class(method), "TEMPLATE", own.stem
    )
    return ROOT / "notebooks" / f"{name}.ipynb"


def _only_template(module: str) -> str:
    """The one ``TEMPLATE`` that the classes of ``module`` name, read from its source (importing it may import torch); empty where there is none."""
    spec = importlib.util.find_spec(module) if module else None
    source = Path(spec.origin).read_text() if spec and spec.origin else ""
    named = set(re.findall(r'^ +TEMPLATE = "([\w-]+)"$', source, re.MULTILINE))
    return named.pop() if len(named) == 1 else ""


def release_id(config: RunConfig, *, data_fingerprint: str, roads_fingerprint: str = "") -> str:
    """12 hex digits: parameters, data, template and the code of the method (comments and docstrings do not count), and the road network
    for methods that draw on it."""
    keys = ("dataset", "unit", "fold", "train_size", "seed", "length", "n_release", "method", "parameters")
    chosen = {k: v for k, v in config.model_dump(mode="json").items() if k in keys}
    module = METHODS[config.method].partition(":")[0]
    on_roads = "roads" in inspect.signature(method_class(config.method).fit).parameters
    return _short(
        {
            **chosen,
            **({"roads": roads_fingerprint} if on_roads else {}),
            "data": data_fingerprint,
            "template": _template_hash(config.method),
            "code": [code_fingerprint(module), code_fingerprint("trajkit.split")],
        }
    )


def evaluation_id(release: str, config: RunConfig, *, roads_fingerprint: str = "") -> str:
    """8 hex digits: the release, the metric settings, the road network and the code of the metrics."""
    settings = [config.evaluation, roads_fingerprint]
    return _short({"release": release, "settings": settings, "code": code_fingerprint("trajkit.metrics")})[:8]


def run_id(config: RunConfig, *, data_fingerprint: str, roads_fingerprint: str = "") -> str:
    """``<release id>-<evaluation id>``: runs with the same first part share one release."""
    release = release_id(config, data_fingerprint=data_fingerprint, roads_fingerprint=roads_fingerprint)
    return f"{release}-{evaluation_id(release, config, roads_fingerprint=roads_fingerprint)}"


@lru_cache(maxsize=64)
def _template_hash(method: str) -> str:
    cells = json.loads(template_of(method).read_text())["cells"]
    return _short([["".join(c["source"]), c["cell_type"]] for c in cells if c["cell_type"] == "code"])


@lru_cache(maxsize=64)
def code_fingerprint(module: str, *, presenting: bool = False) -> str:
    """Hash of the code of ``module`` and of every trajkit module it imports, directly or not; a changed comment changes nothing.

    The parts that only present results are left out unless ``presenting``.
    """
    todo: list[str] = [module]
    seen: dict[str, str] = {}
    while todo:
        name = todo.pop()
        if name in seen or (name.startswith(_NOT_RESULTS) and not presenting):
            continue
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            continue
        tree = ast.parse(Path(spec.origin).read_text())
        seen[name] = hashlib.sha256(ast.dump(_without_docstrings(tree)).encode()).hexdigest()
        todo += _imports(tree)
    return _short(sorted(seen.items()))


def _imports(tree: ast.AST) -> list[str]:
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
    return [name for name in found if name.startswith("trajkit.") and _is_module(name)]


@lru_cache(maxsize=512)
def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:]
    return tree


def _short(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:12]
