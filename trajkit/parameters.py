"""One sentence per bad parameter: pydantic's complaints with the dotted name, the value and what to do."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from trajkit.errors import ParameterError

T = TypeVar("T", bound=BaseModel)


def checked(model: type[T], values: dict[str, Any], *, where: str) -> T:
    """Return ``model(**values)`` or raise ParameterError with one line a problem, named by its dotted path under ``where``."""
    try:
        return model(**values)
    except ValidationError as error:
        lines = []
        for e in error.errors():
            name = ".".join(map(str, e["loc"])) or "(whole)"
            if e["type"] == "extra_forbidden":
                known = ", ".join(_inner(model, e["loc"]).model_fields)
                lines.append(f"{name} is unknown; known here: {known}")
            elif e["type"] == "missing":
                lines.append(f"{name} is missing: add it")
            else:
                lines.append(f"{name} = {e['input']!r}: {e['msg'].lower()}")
        raise ParameterError(f"{where}: " + "; ".join(lines)) from None


def _inner(model: type[BaseModel], path: tuple[int | str, ...]) -> type[BaseModel]:
    """The model that holds the last name of ``path``."""
    for name in path[:-1]:
        field = model.model_fields.get(str(name))
        kind = None if field is None else field.annotation
        if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
            break
        model = kind
    return model
