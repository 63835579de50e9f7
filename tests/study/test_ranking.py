"""Ranks, tests and picks on made figures: what is best is named, what is unsure is said, what promises nothing is left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from trajkit.study.cells import label
from trajkit.study.ranking import Setting, errors, mean_ranks, pairwise, pick, rank_table, settings, values_of
from trajkit.viz.ranks import rank_plot

PRIMARY = ("SWD", "JSD")
PLAIN = Setting("plain", "matched", {m: f"{m}-plain" for m in ("diffusion", "vae", "gan")})
PRIVATE = Setting("private, epsilon 10", "matched", {m: f"{m}-private" for m in ("diffusion", "vae", "gan")})


def _results(
    cells: dict[str, list[float]], *, metrics: tuple[str, ...] = PRIMARY, fails: tuple[str, ...] = ()
) -> pd.DataFrame:
    rows = [
        {"cell": c, "replicate": i, "metric": m, "level": "point", "value": v, "rescaled": v, "holds": c not in fails}
        for c, values in cells.items()
        for i, v in enumerate(values)
        for m in metrics
    ]
    return pd.DataFrame(rows)


def _cells(regime: str, diffusion: list[float], vae: list[float], gan: list[float]) -> dict[str, list[float]]:
    return {f"diffusion-{regime}": diffusion, f"vae-{regime}": vae, f"gan-{regime}": gan}


CLEAR = _cells("plain", [0.1, 0.11, 0.12], [0.30, 0.31, 0.33], [0.6, 0.62, 0.61])
MURKY = _cells("plain", [0.1, 0.5, 0.3], [0.4, 0.1, 0.45], [0.3, 0.4, 0.25])


def _pick(results: pd.DataFrame, setting: Setting = PLAIN):  # type: ignore[no-untyped-def]
    tests = pairwise(results, [setting], metrics=PRIMARY, test_ratio=0.25)
    return pick(results, setting, tests, metrics=PRIMARY)


def test_settings_need_two_models_and_know_the_published_protocol() -> None:
    cells = ["real", "vae-plain", "gan-plain", "diffusion-private", "gan-published-plain", "vae-clipped"]
    found = {s.name: s.cells for s in settings(cells)}
    assert found == {
        "plain": {"vae": "vae-plain", "gan": "gan-plain"},
        "plain, published protocol": {"vae": "vae-plain", "gan": "gan-published-plain"},
    }
    assert settings(["real", "uniform"]) == []
    assert not any("epsilon" in s.name for s in settings(["vae-private", "gan-published-private"]))


def test_ranks_are_over_the_repetitions_that_all_models_completed() -> None:
    results = _results({**CLEAR, "gan-plain": [0.01, 0.62]})  # the third repetition failed
    table = rank_table(results, [PLAIN])
    assert set(table["folds"]) == {2}
    swd = table[table["metric"] == "SWD"].set_index("model")
    assert swd["rank"].to_dict() == {"diffusion": 1.0, "vae": 2.0, "gan": 3.0}
    assert swd["mean"]["diffusion"] == pytest.approx(0.105)
    assert mean_ranks(table).loc[("plain", "point"), "diffusion"] == 1.0
    assert not len(rank_table(_results({"vae-plain": [0.1]}), [PLAIN])) and not len(mean_ranks(rank_table(results, [])))


def test_a_model_without_a_run_is_left_out_and_the_others_are_compared() -> None:
    results = _results({"vae-plain": [0.1, 0.2, 0.3], "gan-plain": [0.5, 0.6, 0.7]})
    assert list(values_of(results, PLAIN, "SWD")) == ["vae", "gan"]
    tests = pairwise(results, [PLAIN], metrics=PRIMARY, test_ratio=0.25)
    assert set(zip(tests["a"], tests["b"], strict=True)) == {("vae", "gan")}
    assert _pick(results).model == "vae"


def test_one_model_with_a_single_run_does_not_take_the_folds_of_the_others() -> None:
    results = _results({"diffusion-plain": [0.1, 0.11, 0.12], "vae-plain": [0.4, 0.42, 0.41], "gan-plain": [0.9]})
    tests = pairwise(results, [PLAIN], metrics=PRIMARY, test_ratio=0.25).set_index(["a", "b"])
    assert set(tests.loc[[("diffusion", "vae")], "folds"]) == {3}
    assert set(tests.loc[[("diffusion", "gan")], "folds"]) == {1}


def test_better_and_worse_is_not_called_no_difference() -> None:
    tests = pd.DataFrame(
        {"setting": "plain", "a": "diffusion", "b": "vae", "p": [0.01, 0.01], "better": ["diffusion", "vae"]}
    )
    found = pick(_results(CLEAR), PLAIN, tests, metrics=PRIMARY)
    assert (found.sure, found.against["vae"]) == ("mixed", "better and worse")


def test_holm_counts_metrics_and_pairs_of_one_setting() -> None:
    tests = pairwise(_results(CLEAR), [PLAIN], metrics=PRIMARY, test_ratio=0.25)
    assert len(tests) == 6
    assert tests["p (Holm)"].min() == pytest.approx(6 * tests["p"].min())
    assert set(tests.loc[tests["a"] == "diffusion", "better"]) == {"diffusion"}


def test_a_clear_winner_is_picked_for_sure() -> None:
    found = _pick(_results(CLEAR))
    assert (found.model, found.sure, found.usable) == ("diffusion", "clear", True)
    assert found.against == {"vae": "clearly better", "gan": "clearly better"}


def test_noise_is_not_called_sure_and_one_repetition_neither() -> None:
    assert _pick(_results(MURKY)).sure == "not clear"
    once = _pick(_results({c: v[:1] for c, v in CLEAR.items()}))
    assert (once.model, once.sure, set(once.against.values())) == ("diffusion", "one repetition", {"no test"})


def test_equal_models_are_rarely_told_apart() -> None:
    rng = np.random.default_rng(5)
    told = [_pick(_results(_cells("plain", *rng.normal(0.3, 0.05, (3, 5)).tolist()))).sure for _ in range(100)]
    assert np.mean([t != "not clear" for t in told]) < 0.05


def test_without_a_guarantee_nobody_is_picked_where_privacy_is_asked_for() -> None:
    cells = _cells("private", [0.5, 0.52, 0.51], [0.7, 0.71, 0.69], [0.1, 0.11, 0.12])
    found = _pick(_results(cells, fails=("gan-private",)), PRIVATE)
    assert (found.model, found.excluded, found.usable) == ("diffusion", ("gan",), False)
    one = _pick(_results(cells, fails=("gan-private", "vae-private")), PRIVATE)
    assert (one.model, one.sure) == ("diffusion", "alone")
    nobody = _pick(_results(cells, fails=tuple(cells)), PRIVATE)
    assert nobody.model is None and set(nobody.excluded) == {"diffusion", "vae", "gan"}
    # a plain setting asks for no guarantee
    assert _pick(_results(CLEAR, fails=tuple(CLEAR))).model == "diffusion"


def test_each_metric_may_have_its_own_first() -> None:
    a = _results(_cells("plain", [0.1, 0.11], [0.3, 0.31], [0.9, 0.91]), metrics=("SWD",))
    b = _results(_cells("plain", [0.4, 0.41], [0.35, 0.36], [0.9, 0.91]), metrics=("JSD",))
    found = _pick(pd.concat([a, b], ignore_index=True))
    assert found.model == "diffusion" and found.firsts == {"SWD": "diffusion", "JSD": "vae"}


def test_a_model_with_a_condition_is_a_contestant_of_its_own() -> None:
    cells = ["vae-private", "diffusion-private", "diffusion-sample-private", "diffusion-gaussian-private",
             "diffusion-gaussian-private-epsilon_c-1.0", "diffusion-gaussian-private-tiny", "gan-published-private"]  # fmt: skip
    (matched, published) = settings(cells)
    assert matched.cells == {m: f"{m}-private" for m in ("diffusion", "vae", "diffusion-sample", "diffusion-gaussian")}
    assert published.cells == {**matched.cells, "gan": "gan-published-private"}
    assert label("diffusion-sample") == "conditional diffusion model (sample)"
    assert label("gan-attributes-gaussian") == "conditional GAN (attributes + Gaussian)" and label("real") == "real"

    errors_of = {"vae": [0.5, 0.52, 0.51], "diffusion": [0.4, 0.41, 0.42], "diffusion-gaussian": [0.3, 0.31, 0.3]}
    results = _results(
        {f"{m}-private": v for m, v in {**errors_of, "diffusion-sample": [0.1, 0.1, 0.1]}.items()},
        fails=("diffusion-sample-private",),  # its conditioning set is not protected
    )
    found = _pick(results, matched)
    assert (found.model, found.excluded, found.private) == ("diffusion-gaussian", ("diffusion-sample",), True)
    figure = rank_plot(rank_table(results, [matched]), primary=PRIMARY)
    assert "conditional diffusion model (sample + Gaussian)" in [t.get_text() for t in figure.legends[0].get_texts()]


def test_table_and_plot_hold_every_model() -> None:
    results = _results(CLEAR)
    table = errors(results, [PLAIN], metrics=PRIMARY, test_ratio=0.25)
    assert list(table.columns) == ["diffusion", "vae", "gan"] and table.loc[("plain", "SWD"), "vae"].startswith(
        "0.313 ["
    )
    figure = rank_plot(rank_table(results, [PLAIN, PLAIN]), primary=PRIMARY)
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["diffusion model", "VAE", "GAN"]
