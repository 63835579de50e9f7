"""Sound subjects pass every test; each broken copy is caught by the test that can see it, and missed by one that cannot."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trajkit.attacks.broken import GAMES, SOUND, Subject, game, step_count, support, table
from trajkit.errors import ParameterError
from trajkit.privacy.accounting import epsilon_of


@pytest.mark.parametrize(
    ("test", "flaw", "steps"),
    [
        ("gradient", "noise halved", 3000),
        ("gradient", "clipping off", 1000),
        ("epoch", "shuffled", 5000),
        ("updates", "empty batches skipped", 2000),
    ],
)
def test_a_broken_copy_is_caught_where_the_sound_one_passes(test: str, flaw: str, steps: int) -> None:
    caught = game(test, flaw, steps=steps, seed=1)
    assert caught.contradicted and flaw in caught.subject
    sound = game(test, SOUND, steps=steps, seed=1)
    assert not sound.contradicted
    assert sound.claimed_epsilon == caught.claimed_epsilon
    assert sound.trials == steps // GAMES[test].steps


def test_a_plain_count_of_updates_sees_skipped_ones_only() -> None:
    caught = step_count("empty batches skipped", seed=1)
    assert caught.by == ("count",) and caught.epsilon_lower is None
    assert not step_count(SOUND, seed=1).contradicted
    assert not step_count("noise halved", seed=1).contradicted


def test_an_unnoised_support_is_seen_and_a_noised_one_is_not() -> None:
    caught = support(broken=True, releases=300, seed=1)
    assert caught.by == ("epsilon",) and caught.epsilon_lower is not None and caught.epsilon_lower > 3
    sound = support(broken=False, releases=2000, seed=1)
    assert not sound.contradicted
    assert sound.best_auc is not None and sound.best_auc > 0.55  # it sees the canary, as epsilon 1 allows


def test_not_every_test_sees_every_flaw() -> None:
    assert not game("gradient", "shuffled", steps=1000, seed=1).contradicted
    assert not game("updates", "noise halved", steps=1000, seed=1).contradicted
    assert not game("gradient", "clipping off", steps=1000, seed=1, placebo=True).contradicted


def test_flaws_are_what_they_say() -> None:
    g = GAMES["gradient"]
    records = torch.cat([g.others, g.canary[None]])

    def sums(flaw: str, steps: int = 400) -> Subject:
        done = Subject(records, g.settings(steps), flaw=flaw, seed=3)
        done.run()
        return done

    sound, half, unclipped = map(sums, (SOUND, "noise halved", "clipping off"))
    assert np.abs(sound.sums[:, 0]).max() < 10 < np.abs(unclipped.sums[:, 0]).max()
    difference = sound.sums - half.sums  # the same draws: half the noise is left
    assert difference.std() == pytest.approx(g.noise_multiplier / 2, rel=0.1)
    shuffled, seen = Subject(records, g.settings(6), flaw="shuffled", seed=3), []
    for _ in range(6):
        shuffled._take_step()
        seen += shuffled.batch.tolist()
    assert [sorted(seen[5 * i : 5 * i + 5]) for i in range(3)] == [[0, 1, 2, 3, 4]] * 3  # an epoch is two steps
    alone = Subject(records[:1], g.settings(400), flaw="empty batches skipped", seed=3)
    alone.run()
    assert len(alone.sums) == sum(alone.made) < 400 == alone.ledger["steps"]
    assert alone.record.empty_batches == 400 - len(alone.sums)


@pytest.mark.slow
def test_the_whole_table() -> None:
    found = {(v.subject, v.test): v.contradicted for v in table(steps=5000, releases=2000, seed=1)}
    assert not any(caught for (subject, _), caught in found.items() if subject.endswith("sound"))
    for subject in {subject for subject, _ in found if not subject.endswith("sound")}:
        assert any(caught for (of, _), caught in found.items() if of == subject), subject


def test_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ParameterError, match="test"):
        game("none", SOUND, steps=100, seed=1)
    with pytest.raises(ParameterError, match="flaw"):
        game("gradient", "none", steps=100, seed=1)


def test_the_claims_are_those_of_the_kits_accounting() -> None:
    claim = GAMES["gradient"].claim
    found = game("gradient", SOUND, steps=100, seed=1)
    assert found.claimed_epsilon == epsilon_of(claim, delta=found.claimed_delta, unit="trajectory").epsilon
