"""Clipping alone costs too: the three regimes differ in one thing at a time, at the same draws and steps."""

from __future__ import annotations

import torch
from deep_toys import toy_trainer, weights


def test_c29_vanishing_noise_is_the_clipped_run_not_the_plain_one() -> None:
    plain, clipped = toy_trainer(regime="plain"), toy_trainer(regime="clipped", max_grad_norm=0.01)
    private = toy_trainer(regime="private", max_grad_norm=0.01, noise_multiplier=1e-9)
    for trainer in (plain, clipped, private):
        trainer.run()
    assert plain.record.examples == clipped.record.examples == private.record.examples
    assert min(clipped.record.clipped_share) == 1.0
    torch.testing.assert_close(weights(private), weights(clipped), rtol=1e-3, atol=3e-4)
    assert float((weights(plain) - weights(clipped)).abs().max()) > 1e-3
