"""The colours of lines and grouped bars: apart from one another for every kind of colour vision, and off the paper."""

from __future__ import annotations

import math
import re
from itertools import combinations
from pathlib import Path

import pytest

import sfumato
from sfumato.gateway import chart_frame

STATIC = Path(sfumato.__file__).parent / "server" / "console" / "static"
HEX = r"#[0-9a-f]{6}"
PAIR = rf"\.series\d \{{ --series: light-dark\(({HEX}), ({HEX})\)"
CSS = re.findall(PAIR, (STATIC / "console.css").read_text("utf-8"))
SCRIPT = re.findall(HEX, re.search(r"COLOURS = \[([^\]]*)\]", (STATIC / "series.js").read_text("utf-8"))[1])
LIGHT, DARK = zip(*CSS, strict=True)
VISIONS = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB."""


def linear(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def lab(colour, vision):
    """CIE L*a*b* of a colour as somebody sees it."""
    r, g, b = (min(1, max(0, sum(m * part for m, part in zip(row, linear(colour), strict=True)))) for row in vision)
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def contrast(first, second):
    weights = (0.2126, 0.7152, 0.0722)
    dark, light = sorted(sum(w * x for w, x in zip(weights, linear(c), strict=True)) for c in (first, second))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(("colours", "paper"), [(LIGHT, "#ffffff"), (DARK, "#14181d")])
def test_eight_colours_are_told_apart(colours, paper):
    assert len(set(colours)) == 8
    assert min(contrast(colour, paper) for colour in colours) >= 3  # WCAG 1.4.11
    for vision in VISIONS.values():
        assert min(math.dist(lab(a, vision), lab(b, vision)) for a, b in combinations(colours, 2)) >= 15


def test_a_chart_has_the_same_colours_in_the_console_in_its_file_and_in_a_notebook():
    assert tuple(SCRIPT) == LIGHT
    assert chart_frame.LIGHT == LIGHT
    assert chart_frame.DARK == DARK
