"""Colours that people with any colour vision can tell apart: the eight of Okabe and Ito (2008), and sequential maps of growing darkness."""

from __future__ import annotations

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000", "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7",
)  # fmt: skip
INK, FAINT, ROAD = "#1b1b1b", "#9a9a9a", "#d9d9d9"
LINES = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)  # on white; yellow is too faint there, black is for text
DENSITY = "magma_r"  # light is little, dark is much
