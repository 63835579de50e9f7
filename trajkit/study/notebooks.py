"""Checks on notebooks, before they run and after: what papermill lets pass in silence stops here with a reason."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

# jsonschema's checker of web addresses takes seconds to import, and no notebook schema asks for it: a study starts dozens of processes
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

import nbformat  # noqa: E402

from trajkit.errors import MissingDataError, ParameterError, ResourceError, RunFailedError  # noqa: E402


def read_notebook(path: Path) -> Any:
    """Read a notebook (format 4). Raises MissingDataError or ParameterError naming the file."""
    if not path.is_file():
        raise MissingDataError(f"notebook {path} does not exist: check the template name of the method")
    try:
        return nbformat.read(path, as_version=4)
    except (nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        raise ParameterError(
            f"{path} is not a notebook ({' '.join(str(error).split())}): restore it from git"
        ) from None


def declared_parameters(path: Path) -> dict[str, Any]:
    """Return name → default of the one cell tagged ``parameters``.

    Raises ParameterError when the cell is missing or doubled, or when a value is no literal (a derived value would
    keep the old default when the parameter changes).
    """
    cells = [c for c in read_notebook(path).cells if "parameters" in c.metadata.get("tags", [])]
    if len(cells) != 1:
        raise ParameterError(
            f"{path.name} has {len(cells)} cells tagged 'parameters', it needs exactly one: tag the cell with the defaults"
        )
    found: dict[str, Any] = {}
    for statement in ast.parse(cells[0].source).body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        if not isinstance(target, ast.Name):
            raise ParameterError(
                f"{path.name}: the parameters cell may only assign literals to names, not `{ast.unparse(statement)}`: move it to the next cell"
            )
        try:
            found[target.id] = ast.literal_eval(statement.value)
        except ValueError:
            raise ParameterError(
                f"{path.name}: parameter {target.id} = {ast.unparse(statement.value)} is not a literal; it would keep its old value when a parameter "
                "it is made from changes: compute it in the next cell"
            ) from None
    return found


def check_parameters(path: Path, values: dict[str, Any]) -> None:
    """Check that the notebook declares every name in ``values`` and that types agree (None matches anything).

    Raises ParameterError naming the parameter and those the notebook knows.
    """
    declared = declared_parameters(path)
    for name, value in values.items():
        if name not in declared:
            raise ParameterError(f"{path.name} has no parameter {name!r}: it has {', '.join(declared)}")
        _check_plain(name, value)
        default = declared[name]
        if (
            default is not None
            and value is not None
            and type(default) is not type(value)
            and not _number_pair(default, value)
        ):
            raise ParameterError(
                f"{path.name}: parameter {name} is {type(default).__name__} there, got {value!r} ({type(value).__name__})"
            )


def _number_pair(default: Any, value: Any) -> bool:
    return isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool)


def _check_plain(name: str, value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ParameterError(
                    f"parameter {name}: key {key!r} is not text; notebooks would turn it into text in silence: quote it"
                )
            _check_plain(f"{name}.{key}", item)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            _check_plain(f"{name}.{i}", item)
    elif not (value is None or type(value) in (str, int, float, bool)):
        raise ParameterError(
            f"parameter {name} = {value!r} is a {type(value).__name__}: notebooks take text, numbers, true/false, lists and string-keyed maps only"
        )


def check_executed(path: Path, *, sentinel: str) -> None:
    """Check that every code cell ran, in order and without error, and that the last output shows ``sentinel``.

    Raises RunFailedError naming the first cell that breaks this, ResourceError where it did not run (papermill calls a killed kernel's cells "completed").
    """
    cells = [c for c in read_notebook(path).cells if c.cell_type == "code" and c.source.strip()]
    counts = [c.execution_count for c in cells]
    for i, count in enumerate(counts):
        if count is None or (i and count <= counts[i - 1]):
            first = cells[i].source.strip().splitlines()[0]
            raise ResourceError(
                f"{path.name}: code cell {i + 1} (`{first}`) did not run; the kernel was probably killed, often for memory"
            )
        if any(o.output_type == "error" for o in cells[i].outputs):
            raise RunFailedError(f"{path.name}: code cell {i + 1} ended with an error")
    text = "".join(
        str(o.get("text", "")) + str(o.get("data", {}).get("text/plain", ""))
        for o in (cells[-1].outputs if cells else [])
    )
    if sentinel not in text:
        raise RunFailedError(
            f"{path.name}: the last cell did not print {sentinel!r}: the notebook ended before its end"
        )


def seconds_of_cells(path: Path) -> float:
    """Seconds that the cells of an executed notebook took, as papermill noted them."""
    return float(sum(cell.metadata.get("papermill", {}).get("duration") or 0.0 for cell in read_notebook(path).cells))
