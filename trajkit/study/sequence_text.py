"""Tables and sentences on the experiments with noisy prefix trees, made from their figures."""

from __future__ import annotations

import pandas as pd

from trajkit.classical.tree_noise import MOST_NODES, expected_nodes, false_share, published_threshold
from trajkit.privacy.mechanisms import Laplace
from trajkit.study.rule_sequences import ERROR, PATTERNS, PUBLISHED_GAIN, gains, growth, main_height, of, setting

VISITED = "error, visited queries"
KINDS = {ERROR: "uniform", VISITED: "visited"}
PAPER_HEIGHTS = (12, 20)
MISSING = "This profile has no experiments on sequences, or they were not run yet."


def answer(table: pd.DataFrame) -> str:
    """What the experiments say: error, gain, useful height, threshold, run time."""
    if not len(table):
        return MISSING
    height = main_height(table)
    said = [_errors(table, height), _useful_height(table), _threshold(table), _time(table)]
    return "\n\n".join(said)


def _errors(table: pd.DataFrame, height: int) -> str:
    uniform, visited = (gains(table, height=height, what=what) for what in (ERROR, VISITED))
    exact = gains(table, height=height, variant="least-squares")
    zero = of(table, "uniform answers of 0", experiment="answers")
    return (
        f"**Count queries at height {height}.** Uniform queries, as published, are answered with a mean relative error of "
        f"{_percent(uniform.loc[1.0, 'full'])} at epsilon 1. Over all epsilons and lengths, inference {_moved(uniform['gain'])} "
        f"(published: lowers it by {PUBLISHED_GAIN}), the exact least-squares fit {_moved(exact['gain'])}. An error is relative "
        f"to the true answer, or to {100 * setting(table, 'sanity'):g} % of the sequences where that is larger (the text that we have does not give "
        f"the paper's bound). Of the uniform queries {_percent(zero['value'])} have the answer 0; queries for locations that one real "
        f"sequence visits are answered with an error of {_percent(visited.loc[1.0, 'full'])}."
    )


def _percent(values: pd.Series) -> str:
    low, high = 100 * values.min(), 100 * values.max()
    return f"{low:.3g} %" if f"{low:.3g}" == f"{high:.3g}" else f"{low:.3g} to {high:.3g} %"


def _moved(gain: pd.Series) -> str:
    """What inference does to an error, from the shares by which it falls."""
    if (gain > 0).all():
        return f"lowers it by {_percent(gain)}"
    if (gain < 0).all():
        return f"raises it by {_percent(-gain)}"
    if (gain == 0).all():
        return "does not change it"
    return f"moves it by {_percent(-gain)} (minus: lower)"


def _range(values: pd.Series) -> str:
    low, high = f"{values.min():g}", f"{values.max():g}"
    return low if low == high else f"{low} to {high}"


def height_table(table: pd.DataFrame) -> pd.DataFrame:
    """One row a height at epsilon 1: errors and patterns (full variant), and noise against signal over the levels."""
    rows = []
    for height in sorted(set(table.loc[table["experiment"] == "utility", "height"])):
        at = {"epsilon": 1.0, "height": height}
        full = {what: of(table, what, variant="full", **at) for what in (ERROR, VISITED, PATTERNS)}
        common = int(setting(table, "height query length"))
        k = full[PATTERNS]["x"].max()
        mass = {
            what: of(table, what, **at).groupby("x")["value"].mean()
            for what in ("real", "cut", "noise", "of noise", "kept")
        }
        rows.append(
            {
                "height": height,
                "error, uniform": full[ERROR].loc[full[ERROR]["x"] == common, "value"].mean(),
                "error, visited": full[VISITED].loc[full[VISITED]["x"] == common, "value"].mean(),
                f"top {k} found": full[PATTERNS].loc[full[PATTERNS]["x"] == k, "value"].mean(),
                "elements kept": mass["real"].sum() / (mass["real"] + mass["cut"]).sum(),
                "noise over signal": mass["noise"].sum() / mass["real"].sum(),
                "nodes by noise alone": mass["of noise"].sum() / mass["kept"].sum(),
                "levels where noise wins": f"{int((mass['noise'] > mass['real']).sum())} of {height}",
            }
        )
    return pd.DataFrame(rows)


def _useful_height(table: pd.DataFrame) -> str:
    rows, height = height_table(table).set_index("height"), main_height(table)
    levels = level_table(table)
    lost = list(map(int, levels.loc[levels["noise"] > levels["real"], "level"]))
    found = next(c for c in rows if c.startswith("top "))
    best, last = rows[found].idxmax(), rows.index.max()
    text = (
        f"**Height.** In a tree of height {height} at epsilon 1, noise outweighs the trajectories that are counted at "
        f"{f'{len(lost)} of {height} levels, the first of them level {lost[0]}' if lost else 'no level'}, and "
        f"{_percent(rows.loc[[height], 'elements kept'])} of all elements up to that height are in it. The error of uniform queries is "
        f"{_percent(rows['error, uniform'])} over all heights, lowest at {rows['error, uniform'].idxmin()}; that of visited ones is lowest at "
        f"{rows['error, visited'].idxmin()}. Of the {found.replace(' found', '')} patterns (single locations among them) {100 * rows.loc[best, found]:.3g} % are found at height {best}, "
        f"{100 * rows.loc[last, found]:.3g} % at height {last}."
    )
    if lost and best < PAPER_HEIGHTS[0] <= last:
        text += (
            f" So the useful height is below the {PAPER_HEIGHTS[0]} to {PAPER_HEIGHTS[1]} of the paper: a higher tree spends its budget on levels "
            "whose nodes hold too few trajectories to be told from noise."
        )
    return text


def literal_gains(table: pd.DataFrame) -> pd.DataFrame:
    """One row an epsilon where the published threshold with Laplace noise was run: what inference does to the error there."""
    rows = of(table, ERROR, experiment="threshold", threshold="published", mechanism="laplace")
    keys = ["data", "locations", "height", "epsilon"]
    wide = rows.pivot_table(index=keys, columns="variant", values="value")
    share = of(table, "noise over signal", experiment="threshold", threshold="published", mechanism="laplace")
    wide["noise over signal"] = share.set_index(keys)["value"]
    wide["gain, published inference"] = 1 - wide["full"] / wide["basic"]
    wide["gain, least squares"] = 1 - wide["least-squares"] / wide["basic"]
    return wide.rename_axis(columns=None).reset_index()


def _threshold(table: pd.DataFrame) -> str:
    utility = table[table["experiment"] == "utility"]
    locations, height = int(utility["locations"].max()), main_height(table)
    share = false_share(Laplace(float(height), 1.0), published_threshold(Laplace(float(height), 1.0)))
    tree = expected_nodes(locations, height, share)
    literal = literal_gains(table)
    said = "; ".join(
        f"{data}, {n:,} locations, height {h}, epsilon {_range(part['epsilon'])}: it {_moved(part['gain, published inference'])}"
        for (data, n, h), part in literal.groupby(["data", "locations", "height"], sort=False)
    )
    return (
        f"**Threshold.** With the published threshold a node has {locations * share:.3g} children by noise alone among {locations:,} locations, "
        f"and a tree of height {height} has {tree:.3g} nodes by noise alone on average"
        f"{', so it cannot be built' if tree > MOST_NODES else ''}. The subcritical threshold keeps it to half a child. Where the literal "
        f"algorithm can run, this is what inference does to the error of uniform queries: {said} (published: lowers it by {PUBLISHED_GAIN})."
    )


def _time(table: pd.DataFrame) -> str:
    by_n, by_locations = growth(table, "time by n", "n"), growth(table, "time by locations", "locations")
    last = of(table, "CPU s", experiment="time by n", variant="full").sort_values("n").iloc[-1]
    return (
        f"**Run time.** Tree, inference and release of {int(last['n']):,} sequences over {int(last['locations']):,} locations take {last['value']:.2g} CPU "
        f"seconds at height {int(last['height'])} (the paper: 24 s in 2011). {by_n[0]:.3g} times the sequences take {by_n[1]:.2g} times as long, "
        f"{by_locations[0]:.3g} times the locations {by_locations[1]:.2g} times."
    )


def level_table(table: pd.DataFrame, height: int | None = None) -> pd.DataFrame:
    """What each level of a tree at epsilon 1 holds (first repetition), as `trajkit.viz.sequences.level_masses` draws it."""
    if not len(table):
        return pd.DataFrame()
    wanted = main_height(table) if height is None else height
    names = ("kept", "of noise", "real", "cut", "noise")
    columns = {w: of(table, w, epsilon=1.0, height=wanted, repetition=0).set_index("x")["value"] for w in names}
    return pd.DataFrame(columns).rename_axis("level").reset_index()


def threshold_table(table: pd.DataFrame) -> pd.DataFrame:
    """One row a form of the algorithm and set of sequences: nodes, noise over signal, and errors of each variant."""
    rows = table[table["experiment"] == "threshold"]
    if not len(rows):
        return pd.DataFrame()
    named = rows.assign(figure=rows["what"].where(rows["x"] == 0, rows["what"] + ", " + rows["x"].astype(str)))
    named["figure"] = named["figure"] + named["variant"].map(lambda v: f" ({v})" if v else "")
    keys = ["data", "locations", "height", "epsilon", "threshold", "mechanism"]
    wide = named[~named["what"].eq(PATTERNS)].pivot_table(index=keys, columns="figure", values="value", sort=False)
    return wide.reset_index().rename_axis(columns=None)
