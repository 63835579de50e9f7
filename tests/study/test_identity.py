"""Run ids: everything that decides a result changes the id, and nothing else does."""

from __future__ import annotations

import ast

import pytest

from trajkit.methods import METHODS, method_class
from trajkit.study import identity
from trajkit.study.identity import code_fingerprint, evaluation_id, release_id, run_id, template_of
from trajkit.study.run_config import RunConfig

BASE = RunConfig(dataset="city", method="uniform", parameters={"length": 8}, length=8, evaluation={"n_pairs": 5})


def _id(data: str = "d", **changes: object) -> str:
    return release_id(BASE.model_copy(update=changes), data_fingerprint=data)


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"fold": 1},
        {"train_size": 5},
        {"length": 9},
        {"n_release": 7},
        {"parameters": {"length": 9}},
        {"method": "real"},
        {"unit": "user"},
    ],
    ids=str,
)
def test_what_decides_a_release_changes_its_id(changes: dict[str, object]) -> None:
    assert _id(**changes) != _id()


def test_data_counts_by_content_not_by_place() -> None:
    assert _id("other") != _id()
    assert _id(data="d") == _id(data="d")
    assert release_id(BASE.model_copy(update={"data": "/elsewhere"}), data_fingerprint="d") == _id()


def test_a_new_metric_setting_changes_the_evaluation_only() -> None:
    changed = BASE.model_copy(update={"evaluation": {"n_pairs": 6}})
    assert release_id(changed, data_fingerprint="d") == _id()
    assert evaluation_id(_id(), changed) != evaluation_id(_id(), BASE)


def test_comments_and_docstrings_do_not_count_and_code_does() -> None:
    def dump(source: str) -> str:
        return ast.dump(identity._without_docstrings(ast.parse(source)))

    assert dump('"""A."""\ndef f():\n    """B."""\n    return 1  # C') == dump("def f():\n    return 1")
    assert dump("def f():\n    return 2") != dump("def f():\n    return 1")


def test_the_code_of_a_method_includes_what_it_imports() -> None:
    assert code_fingerprint("trajkit.deep.diffusion") != code_fingerprint("trajkit.deep.trainer")
    assert code_fingerprint("trajkit.study.results") != code_fingerprint("trajkit.study.results", presenting=True)


def test_another_road_network_is_another_release_for_methods_that_draw_on_it_and_another_evaluation_for_all() -> None:
    on_map = BASE.model_copy(update={"method": "road_counts", "parameters": {}})
    ids = {
        c.method: [run_id(c, data_fingerprint="d", roads_fingerprint=r).split("-") for r in "ab"]
        for c in (BASE, on_map)
    }
    assert ids["uniform"][0][0] == ids["uniform"][1][0] and ids["uniform"][0][1] != ids["uniform"][1][1]
    assert ids["road_counts"][0][0] != ids["road_counts"][1][0]


@pytest.mark.parametrize("method", METHODS)
def test_the_template_read_from_the_source_is_the_one_that_the_class_names(method: str) -> None:
    template = template_of(method)
    assert template.is_file()
    assert template.stem in (f"method-{method}", getattr(method_class(method), "TEMPLATE", ""))
