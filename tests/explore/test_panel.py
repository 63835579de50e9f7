"""Controls draw all views at once; errors become sentences; long work can be stopped."""

from __future__ import annotations

import threading

import ipywidgets as widgets
import matplotlib.pyplot as plt
import pytest

from trajkit.errors import ParameterError
from trajkit.explore.panel import Panel
from trajkit.explore.work import Steps, Work
from trajkit.viz.pictures import Picture, View, sentence


def _draw(k: int) -> list[View]:
    if k == 3:
        raise ParameterError("k is 3: choose <another>")
    if k == 4:
        raise KeyError("lost")
    fig, ax = plt.subplots(figsize=(2, 1))
    ax.plot([0, k])
    plt.close(fig)
    return [Picture(fig, f'a line up to "{k}"'), sentence(f"k is {k} < 9")]


def _panel(interactive: bool | None = True) -> Panel:
    return Panel({"k": widgets.IntSlider(value=1, min=1, max=4, description="k")}, _draw, interactive=interactive)


def test_a_control_changes_every_view() -> None:
    panel = _panel()
    panel.box()
    first = panel.views.value
    assert "a line up to &quot;1&quot;" in first and "k is 1 &lt; 9" in first and "data:image/png;base64," in first
    panel.controls["k"].value = 2
    assert "a line up to &quot;2&quot;" in panel.views.value and "k is 2" in panel.views.value
    assert panel.views.value.count("<img ") == 1


@pytest.mark.parametrize(
    ("k", "said"), [(3, "k is 3: choose &lt;another&gt;"), (4, "KeyError: &#x27;lost&#x27;")], ids=["kit", "other"]
)
def test_an_error_is_a_sentence_and_the_views_stay(k: int, said: str) -> None:
    panel = _panel()
    panel.box()
    before = panel.views.value
    panel.controls["k"].value = k
    assert said in panel.message.value and 'role="alert"' in panel.message.value and panel.views.value == before
    panel.controls["k"].value = 2
    assert panel.message.value == ""


def test_paused_draws_once() -> None:
    drawn: list[int] = []
    controls = {n: widgets.IntSlider(value=1, max=9, description=n) for n in "ab"}
    panel = Panel(controls, lambda a, b: drawn.append(a + b) or [], interactive=True)
    with panel.paused():
        controls["a"].value, controls["b"].value = 3, 4
    assert drawn == [7]


def test_without_a_person_the_views_of_the_first_values_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    panel = _panel(interactive=None)
    assert not panel.interactive
    panel._ipython_display_()
    assert 'a line up to "1"' in capsys.readouterr().out


def test_a_picture_needs_words() -> None:
    with pytest.raises(ParameterError, match="description"):
        Picture(plt.figure(), " ")
    plt.close("all")


def test_work_runs_beside_and_reports() -> None:
    did: list[int] = []

    def steps() -> Steps:
        for i in range(4):
            yield f"piece {i}", i / 4
            did.append(i)

    work = Work(steps, label="Make", done=lambda: did.append(-1))
    work.begin()
    work.wait(10)
    assert did == [0, 1, 2, 3, -1] and work.bar.value == 1.0 and "done" in work.status.value
    assert not work.start.disabled and work.cancel.disabled


def test_cancel_stops_before_the_next_step() -> None:
    began, go_on, closed = threading.Event(), threading.Event(), threading.Event()
    did: list[int] = []

    def steps() -> Steps:
        try:
            for i in range(1000):
                yield f"piece {i}", i / 1000
                did.append(i)
                began.set()
                assert go_on.wait(10)
        finally:
            closed.set()

    work = Work(steps, label="Make")
    work.begin()
    assert began.wait(10) and work.running
    work.cancel.click()
    go_on.set()
    work.wait(10)
    assert did == [0] and closed.is_set() and "cancelled" in work.status.value and not work.running


def test_work_that_fails_says_why() -> None:
    def steps() -> Steps:
        yield "only piece", 0.0
        raise ParameterError("no room for it")

    work = Work(steps, label="Make")
    work.begin()
    work.wait(10)
    assert "no room for it" in work.status.value and not work.start.disabled
