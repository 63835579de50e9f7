"""C41: `delta: 1e-5` arrived as text and `user: 010` as eight, exit code 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from trajkit.errors import ParameterError
from trajkit.methods import make_method
from trajkit.yamlio import load_yaml


def test_delta_written_as_an_exponent_is_a_number(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("regime: private\nepsilon: 1e1\ndelta: 1e-5\n")
    config = make_method("diffusion", **load_yaml(tmp_path / "p.yaml")).config
    assert config.delta == 1e-5 and config.epsilon == 10.0


def test_text_where_a_number_is_due_is_refused() -> None:
    with pytest.raises(ParameterError, match="delta = '1e-5'"):
        make_method("diffusion", regime="private", epsilon=1.0, delta="1e-5")


def test_a_leading_zero_must_be_quoted(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("user: 010\n")
    with pytest.raises(ParameterError, match="010 is ambiguous"):
        load_yaml(tmp_path / "p.yaml")
