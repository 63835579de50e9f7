"""Rule "best": without DP the conditional diffusion model, under DP the GAN?

(i) Among the plain cells, the conditional diffusion model with the lowest rescaled error (mean of the primary metrics) is tested
against every cell that is none, on each primary metric, by paired differences with Holm's adjustment over all of them. Yes when it
is clearly better than each on a metric and clearly worse on none; no when a cell is clearly better than it on a metric and
clearly worse on none. (ii) Among the private cells whose guarantee holds, on each point-level metric the best GAN is tested against
the best other cell, with Holm's adjustment over the metrics. Yes when the GAN is clearly better on most of them, no when it is
clearly worse on most. The claim agrees when both say yes, and disagrees when one says no. Published variants of the GAN take no
part: the private one promises nothing, and the plain one differs in its updates.
"""

from __future__ import annotations

import pandas as pd

from trajkit.study.cells import Name, parsed
from trajkit.study.claim import NOT_TESTABLE, ONCE, UNDECIDABLE, Claim, Found, words
from trajkit.study.stats import Interval, holm, paired_difference

Part = tuple[bool | None, dict[str, str], str]  # yes, no or open; figures; why


def best(claim: Claim, results: pd.DataFrame, published: bool, test_ratio: float | None) -> Found:
    """Apply the rule to ``results`` (columns cell, replicate, metric, level, value, rescaled, holds)."""
    named = {str(c): name for c in results["cell"].unique() if (name := parsed(str(c))) and not name.published}
    plain = {c: n for c, n in named.items() if n.regime == "plain" and n.rest in ("", "long")}
    private = {c: n for c, n in named.items() if n.regime == "private" and not n.rest and _holds(results, c)}
    lacks = [*_lacks_plain(plain), *_lacks_private(private)]
    if test_ratio is None or lacks:
        return NOT_TESTABLE, {}, f"this study has {' and '.join(lacks) or 'no complete run'}"
    alpha = 1 - claim.confidence
    first = _conditional_diffusion(results, plain, claim.metrics, test_ratio, alpha)
    second = _gan(results, private, test_ratio, alpha)
    if first is None:
        return NOT_TESTABLE, {}, "the cells have no rescaled value in common"
    figures, why = {**first[1], **second[1]}, f"without DP {first[2]}; under DP {second[2]}"
    yes, no = words(published)
    if first[0] is False or second[0] is False:
        return no, figures, why
    return (yes if first[0] and second[0] else UNDECIDABLE), figures, why


def _holds(results: pd.DataFrame, cell: str) -> bool:
    return bool(results.loc[results["cell"] == cell, "holds"].astype(bool).all())


def _lacks_plain(plain: dict[str, Name]) -> list[str]:
    others = {n.model for n in plain.values() if not _is_conditional_diffusion(n)}
    lacks = [] if any(map(_is_conditional_diffusion, plain.values())) else ["no plain conditional diffusion model"]
    return lacks + [f"no plain {model} beside it" for model in ("diffusion", "vae", "gan") if model not in others]


def _lacks_private(private: dict[str, Name]) -> list[str]:
    models = {n.model for n in private.values()}
    lacks = [] if "gan" in models else ["no private GAN whose guarantee holds"]
    return lacks if models - {"gan"} else [*lacks, "no other private model whose guarantee holds"]


def _is_conditional_diffusion(name: Name) -> bool:
    return name.model == "diffusion" and bool(name.condition)


def _values(results: pd.DataFrame, cell: str, metric: str, column: str) -> pd.Series:
    rows = results[(results["cell"] == cell) & (results["metric"] == metric)]
    return rows.set_index("replicate")[column].dropna()


def _difference(results: pd.DataFrame, a: str, b: str, metric: str, column: str, test_ratio: float) -> Interval | None:
    both = pd.concat([_values(results, c, metric, column) for c in (a, b)], axis=1, join="inner")
    return paired_difference(both.iloc[:, 0], both.iloc[:, 1], test_ratio=test_ratio) if len(both) else None


def _conditional_diffusion(
    results: pd.DataFrame, plain: dict[str, Name], metrics: list[str], test_ratio: float, alpha: float
) -> Part | None:
    means = {c: float(sum(_values(results, c, m, "rescaled").mean() for m in metrics)) / len(metrics) for c in plain}
    own = [c for c, n in plain.items() if _is_conditional_diffusion(n) and means[c] == means[c]]
    if not own:
        return None
    champion, lowest = min(own, key=means.__getitem__), min(means, key=means.__getitem__)
    others = [c for c in plain if c not in own]
    tests = {(c, m): _difference(results, champion, c, m, "rescaled", test_ratio) for c in others for m in metrics}
    known = {key: d for key, d in tests.items() if d is not None}
    if len(known) < len(tests):
        return None
    figures = {
        "without DP": f"{champion} {means[champion]:.3g}, lowest of all {lowest} {means[lowest]:.3g} (mean of {' and '.join(metrics)})"
    }
    if any(d.p is None for d in known.values()):
        return None, figures, ONCE
    adjusted = dict(zip(known, holm([d.p for d in known.values() if d.p is not None]), strict=True))
    won, lost = (
        {c for (c, m), d in known.items() if adjusted[c, m] < alpha and (d.mean < 0) is side} for side in (True, False)
    )
    above = sorted(lost - won)
    if above:
        return False, figures, f"{', '.join(above)} clearly better than {champion}"
    if set(others) <= won - lost:
        return True, figures, f"{champion} is clearly better than every other"
    return None, figures, f"{champion} is not clearly better than every other, and none is clearly better than it"


def _gan(results: pd.DataFrame, private: dict[str, Name], test_ratio: float, alpha: float) -> Part:
    metrics = [str(m) for m in results.loc[results["level"] == "point", "metric"].unique()]
    tests: dict[str, Interval] = {}
    firsts = []
    for metric in metrics:
        means = {c: _values(results, c, metric, "value").mean() for c in private}
        gan, other = (
            min((c for c, n in private.items() if (n.model == "gan") is side), key=means.__getitem__)
            for side in (True, False)
        )
        d = _difference(results, gan, other, metric, "value", test_ratio)
        if d is not None:
            tests[metric] = d
            firsts.append(metric) if d.mean < 0 else None
    figures = {
        "under DP": f"a GAN is first on {len(firsts)} of {len(metrics)} point-level metrics ({', '.join(firsts) or 'none'})"
    }
    if not tests:
        return None, figures, "no repetition is complete for both"
    if any(d.p is None for d in tests.values()):
        return None, figures, ONCE
    adjusted = dict(zip(tests, holm([d.p for d in tests.values() if d.p is not None]), strict=True))
    won, lost = (
        [m for m, d in tests.items() if adjusted[m] < alpha and (d.mean < 0) is side] for side in (True, False)
    )
    if 2 * len(won) > len(metrics):
        return True, figures, f"a GAN is clearly first on most point-level metrics ({', '.join(won)})"
    if 2 * len(lost) > len(metrics):
        return (
            False,
            figures,
            f"another model is clearly better than every GAN on most point-level metrics ({', '.join(lost)})",
        )
    return (
        None,
        figures,
        f"a GAN is clearly first on {len(won)} and clearly behind on {len(lost)} of {len(metrics)} point-level metrics",
    )
