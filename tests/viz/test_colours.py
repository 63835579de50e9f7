"""Colours that stand for different things differ for people with normal, red-blind, green-blind and blue-blind vision.

Vision is simulated as Machado, Oliveira and Fernandes (2009) do at full severity; distances are those of CIELAB.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from trajkit.viz import audits, colours, streets

VISION = {
    "normal": np.eye(3),
    "red-blind": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "green-blind": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "blue-blind": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}  # fmt: skip
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
LEAST = 10.0  # a difference of about 2.3 is just seen side by side
PALETTES = {
    "lines": colours.LINES,
    "streets": (*(colour for _, colour, _ in streets.KINDS), colours.ROAD),
    "audits": (audits.CONTRADICTED_COLOUR, audits.STANDS_COLOUR, colours.INK),
}


def _lab(colour: str, vision: np.ndarray) -> np.ndarray:
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(vision @ linear, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("palette", PALETTES)
def test_colours_can_be_told_apart(palette: str, vision: str) -> None:
    for a, b in itertools.combinations(PALETTES[palette], 2):
        assert np.linalg.norm(_lab(a, VISION[vision]) - _lab(b, VISION[vision])) > LEAST, (a, b)


def test_the_measure_tells_red_from_green_as_people_do() -> None:
    red, green = "#c23b3b", "#6b8e23"
    near = np.linalg.norm(_lab(red, VISION["green-blind"]) - _lab(green, VISION["green-blind"]))
    far = np.linalg.norm(_lab(red, VISION["normal"]) - _lab(green, VISION["normal"]))
    assert far > 3 * near


def test_density_darkens_without_turning_back() -> None:
    import matplotlib

    shades = matplotlib.colormaps[colours.DENSITY](np.linspace(0, 1, 64))
    light = [_lab(matplotlib.colors.to_hex(c), VISION["normal"])[0] for c in shades]
    assert (np.diff(light) < 0.5).all() and light[0] - light[-1] > 80
