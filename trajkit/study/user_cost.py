"""What a promise to people costs beside one to trajectories, at the same epsilon: pairs of cells ``…-private`` and ``…-private-user``."""

from __future__ import annotations

import pandas as pd

from trajkit.study.audit_text import together
from trajkit.study.cells import label, parsed
from trajkit.study.results import PRIMARY, StudyResults

USER = "-user"


def epsilon_per_unit(study: StudyResults) -> pd.DataFrame:
    """What the same noise promises a trajectory and a user: one column a bound on a user's trajectories (`user_level.epsilon_table`), as text."""
    table = together(study, "user level")
    if not len(table):
        return table
    table = table.set_index("trajectories of a user, at most")
    said = {True: "yes", False: "no"}
    return table.map(lambda x: said[x] if isinstance(x, bool) else f"{x:,.4g}").T.rename_axis(columns="at most")


def pairs(study: StudyResults) -> list[tuple[str, str, str]]:
    """(what, cell by user, the same by trajectory) of the cells that the study has."""
    planned = list(dict.fromkeys(study.runs["cell"]))
    found = []
    for cell in planned:
        name, other = parsed(cell), cell.removesuffix(USER)
        if name and other != cell and other in planned:
            found.append((f"{label(name.contestant)}: by user instead of by trajectory", cell, other))
    return found


def user_cost(study: StudyResults) -> pd.DataFrame:
    """One row a cell of `pairs`: the unit that its guarantee names, epsilon, and rescaled errors (mean with interval)."""
    summary, rows = study.summary(), []
    for _, by_user, by_trajectory in pairs(study):
        for cell in (by_trajectory, by_user):
            done = study.complete[study.complete["cell"] == cell]
            if len(done):
                g = study.guarantee(done["run_id"].iloc[0])
                errors = {f"rescaled {m}": summary.loc[cell, m] for m in PRIMARY if m in summary}
                rows.append({"cell": cell, "unit of privacy": g.unit, "epsilon": g.epsilon, "holds": g.holds, **errors})
    return pd.DataFrame(rows)


def user_differences(study: StudyResults) -> pd.DataFrame:
    """By how much errors rise from the one to the other, paired by fold."""
    return study.differences(pairs(study), metrics=PRIMARY)
