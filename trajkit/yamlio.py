"""YAML as people mean it: no value changes its type in silence.

YAML 1.1 reads ``1e-5`` as text, ``010`` as eight and ``1_000`` as a thousand. Here the first is a number, the other
two are refused, and so is a key given twice.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import yaml

from trajkit.errors import MissingDataError, ParameterError

_EXPONENT = re.compile(r"^[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$")


class _Loader(yaml.SafeLoader):
    pass


class _Dumper(yaml.SafeDumper):
    pass


for _side in (_Loader, _Dumper):  # the dumper must know too, so that it quotes text that looks like a number
    _side.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+.0123456789"))


def _refuse(node: yaml.Node, message: str) -> ParameterError:
    mark = node.start_mark
    return ParameterError(f"{mark.name}, line {mark.line + 1}: {message}")


def _int(loader: _Loader, node: yaml.ScalarNode) -> int:
    digits = node.value.lstrip("+-")
    if "_" in digits or ":" in digits or (digits != "0" and digits.startswith("0")):
        raise _refuse(
            node, f"{node.value} is ambiguous in YAML: quote it if it is a name, write plain digits if it is a number"
        )
    return int(node.value)


def _float(loader: _Loader, node: yaml.ScalarNode) -> float:
    if "_" in node.value or ":" in node.value:
        raise _refuse(node, f"{node.value} is ambiguous in YAML: write plain digits")
    return loader.construct_yaml_float(node)


def _map(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    own = [k.value for k, _ in node.value if k.tag != "tag:yaml.org,2002:merge"]
    for key_node, _ in node.value:
        if key_node.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
            raise _refuse(key_node, f"key {key_node.value!r} is not text: quote it")
        if own.count(key_node.value) > 1:
            raise _refuse(key_node, f"key {key_node.value!r} stands twice: keep one")
    loader.flatten_mapping(node)  # keys merged from an anchor come first, so that a mapping's own keys win
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        result[key_node.value] = loader.construct_object(value_node, deep=True)
    return result


_Loader.add_constructor("tag:yaml.org,2002:int", _int)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)
_Loader.add_constructor("tag:yaml.org,2002:map", _map)


def load_yaml(path: str | Path) -> dict[str, Any]:
    """Read a mapping from a YAML file. Raises MissingDataError or ParameterError naming file and line."""
    path = Path(path)
    try:
        with path.open() as stream:
            value = yaml.load(stream, Loader=_Loader)
    except FileNotFoundError:
        raise MissingDataError(f"{path} does not exist: check the name") from None
    except yaml.YAMLError as error:
        raise ParameterError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is no text in UTF-8: is it the right file?") from None
    except IsADirectoryError:
        raise ParameterError(f"{path} is a folder: name a file") from None
    if not isinstance(value, dict):
        raise ParameterError(f"{path} holds no mapping of names to values: see params/ for examples")
    return value


def dump_yaml(value: dict[str, Any]) -> str:
    """Write plain YAML that `load_yaml` reads back unchanged."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically: a reader sees the old file or the whole new one."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    temporary.write_text(text)
    temporary.replace(path)


def private_mark(folder: Path, why: str) -> None:
    """Mark ``folder`` by a file PRIVATE that says ``why``; one that is there already stays."""
    if not (folder / "PRIVATE").is_file():
        write_text(folder / "PRIVATE", f"{why}\n")
