"""pictures.py: the bars are the numbers, the caption is true, and no text can leave its place."""

import math
from fractions import Fraction
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InputError
from sfumato.pictures import BarGroup, curves, grouped_bars, heat, largest_ratio, neighbours

SVG = "{http://www.w3.org/2000/svg}"
THREE = (["a", "b", "c"], [0.5, 0.3, 0.2], [0.25, 0.35, 0.4])


def draw(outputs=THREE[0], bob_out=THREE[1], bob_in=THREE[2], **options):
    options = {"epsilon": Fraction(1), "title": "Two laws", "axis": "answer"} | options
    return ET.fromstring(neighbours(outputs, bob_out, bob_in, **options))


def heights(root, kind):
    """The heights of one law's bars, without the legend's square."""
    return [float(bar.get("height")) for bar in root.iter(f"{SVG}rect") if bar.get("class") == kind][1:]


def words(root):
    return " ".join(text.text or "" for text in root.iter(f"{SVG}text"))


def test_bars_are_as_high_as_the_probabilities():
    root = draw()
    out, inside = heights(root, "out"), heights(root, "in")
    for bars, law in ((out, THREE[1]), (inside, THREE[2])):
        assert [bar / out[0] for bar in bars] == pytest.approx([p / 0.5 for p in law], abs=1e-3)


@pytest.mark.parametrize("highest", [0.0499, 0.05, 0.11, 0.5, 0.61, 1.0, 3e-7])
def test_the_scale_says_how_high_the_bars_are(highest):
    root = draw(bob_out=[highest, highest / 2, 0.0], bob_in=[highest / 4] * 3)
    labels = [float(text.text) for text in root.iter(f"{SVG}text") if text.get("text-anchor") == "end"]
    assert labels[0] == 0
    assert labels[1] == pytest.approx(labels[2] / 2)
    assert highest <= labels[2] <= 2 * highest
    assert heights(root, "out")[0] / (236 - 66) == pytest.approx(highest / labels[2], abs=1e-3)


def test_bars_stand_on_one_line_inside_the_frame():
    root = draw()
    bars = [bar for bar in root.iter(f"{SVG}rect") if bar.get("class") in {"out", "in"}][2:]
    floors = {round(float(bar.get("y")) + float(bar.get("height")), 1) for bar in bars}
    assert floors == {236.0}
    assert all(float(bar.get("y")) >= 66 for bar in bars)
    lefts = sorted((float(bar.get("x")), float(bar.get("width"))) for bar in bars)
    assert all(x + width <= after + 0.02 for (x, width), (after, _) in pairwise(lefts))
    assert lefts[0][0] >= 46
    assert lefts[-1][0] + lefts[-1][1] <= 412


def test_an_impossible_output_has_no_bar_and_the_ratio_no_bound():
    root = draw(bob_in=[0.0, 0.6, 0.4])
    assert len(heights(root, "in")) == 2
    assert "without bound" in words(root)
    assert "the claim is false" in words(root)


def test_the_caption_gives_the_largest_ratio_and_what_epsilon_allows():
    assert "Largest ratio of two bars at one output: 2.0000." in words(draw())
    assert "Epsilon 1 allows up to e^1 = 2.7183." in words(draw())
    assert "Epsilon 0.5 allows only e^0.5 = 1.6487: the claim is false." in words(draw(epsilon=Fraction(1, 2)))
    assert "No epsilon is claimed" in words(draw(epsilon=None))
    assert "Epsilon 1000 allows up to e^1000." in words(draw(epsilon=Fraction(1000)))


def test_a_law_that_uses_its_epsilon_fully_is_within_the_claim():
    """The ratio of two correctly rounded floats may pass e^epsilon in the last digit; that is no false claim."""
    for k in range(1, 200):
        epsilon = Fraction(k, 50)
        low = 1 / (1 + math.exp(epsilon))
        text = words(draw(["no", "yes"], [low, 1 - low], [1 - low, low], epsilon=epsilon))
        assert "allows up to" in text
        assert "false" in words(
            draw(["no", "yes"], [low, 1 - low], [1 - low, low], epsilon=epsilon * Fraction(999, 1000))
        )


@given(st.lists(st.tuples(st.floats(1e-9, 1), st.floats(1e-9, 1)), min_size=1))
def test_the_largest_ratio_does_not_depend_on_who_is_first(pairs):
    first, second = [p for p, _ in pairs], [q for _, q in pairs]
    assert largest_ratio(first, second) == largest_ratio(second, first)
    assert largest_ratio(first, second) == max(max(p / q, q / p) for p, q in pairs)


def test_it_can_be_read_without_being_seen():
    root = draw()
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == "Two laws"
    assert root[1].tag == f"{SVG}desc"
    for part in ("Bob out", "Bob in", "answer", "from a to c", "2.0000"):
        assert part in root[1].text


def test_it_follows_the_screen_and_keeps_its_styles_to_itself():
    style = next(draw().iter(f"{SVG}style")).text
    assert "prefers-color-scheme: dark" in style
    assert "tabular-nums" in style
    selectors = [line.split("{")[0].strip() for line in style.splitlines() if "{" in line and "@media" not in line]
    assert selectors
    assert all(selector.startswith(".sfumato-picture") for selector in selectors)


nasty = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.sampled_from(
    ['<script>alert("1")</script>', "a & b", "]]>", "\x00\x08\ufffe\uffff", "'\"", "&amp;", "-->"]
)


@given(nasty, nasty, st.lists(nasty, min_size=3, max_size=3), st.tuples(nasty, nasty))
def test_any_text_gives_a_document_with_the_same_elements(title, axis, outputs, labels):
    root = draw(outputs, title=title, axis=axis, labels=labels)
    plain = {element.tag for element in draw().iter()}
    assert {element.tag for element in root.iter()} == plain
    assert {key for element in root.iter() for key in element.attrib} == {k for e in draw().iter() for k in e.attrib}


def test_long_text_is_wrapped_or_cut_and_kept_in_the_description():
    root = draw(["x" * 90, "b", "c"], title="word " * 30, axis="y" * 200)
    assert max(len(text.text or "") for text in root.iter(f"{SVG}text")) <= 60
    assert "y" * 200 in root[1].text
    assert float(root.get("viewBox").split()[3]) > float(draw().get("viewBox").split()[3])


@pytest.mark.parametrize("count", [1, 2, 7, 41, 400])
def test_numbers_below_the_bars_do_not_touch(count):
    outputs = list(range(-(count // 2), count - count // 2))
    root = draw(outputs, [1 / count] * count, [1 / count] * count)
    below = [text for text in root.iter(f"{SVG}text") if text.get("y") == "252"]
    assert "0" in {text.text for text in below}
    ends = [
        (float(text.get("x")) - 3.5 * len(text.text), float(text.get("x")) + 3.5 * len(text.text)) for text in below
    ]
    assert all(right < left for (_, right), (left, _) in pairwise(ends))


@pytest.mark.parametrize(
    ("outputs", "out", "inside"),
    [
        ([], [], []),
        (["a"], [0.5, 0.5], [1.0]),
        (["a"], [1.0], [0.5, 0.5]),
        (["a"], [1.5], [1.0]),
        (["a"], [-0.1], [1.0]),
        (["a"], [float("nan")], [1.0]),
        (["a"], [0.0], [1.0]),
    ],
)
def test_what_are_no_two_laws_is_refused(outputs, out, inside):
    with pytest.raises(InputError, match="picture of two distributions"):
        neighbours(outputs, out, inside, epsilon=None, title="t", axis="x")


def lines_of(svg):
    """The points of each curve, without the pieces in the legend."""
    found = [line for line in ET.fromstring(svg).iter(f"{SVG}polyline") if "curve" in line.get("class")]
    points = [[tuple(map(float, pair.split(","))) for pair in line.get("points").split()] for line in found]
    return points[len(points) // 2 :]


def test_a_curve_goes_through_its_numbers():
    one, other = [(1, 0.1), (2, 0.4), (3, 0.2)], [(1, 0.3), (3, 0.4)]
    first, second = lines_of(curves([("a", one), ("b", other)], title="t", axis="x", measure="y"))
    bottom, top = 236, 66
    for (x, y), (_, height) in zip([*one, *other], [*first, *second], strict=True):
        assert (bottom - height) / (bottom - top) == pytest.approx(y / 0.4, abs=1e-3)
        assert 46 <= x * 183 - 137 <= 412
    assert [point[0] for point in first] == [46, 229, 412]
    assert [point[0] for point in second] == [46, 412]


def test_names_of_curves_are_text():
    svg = curves([("<script>", [(1, 1)])], title="<b>", axis="&", measure='"', bare=True)
    assert "<script>" not in svg
    assert "<style" not in svg
    assert "<script>" in words(ET.fromstring(svg))


@pytest.mark.parametrize(
    "lines", [[], [("a", [])], [("a", [(1, math.nan)])], [("a", [(1, -1)])], [("a", [(1, 0)])], [("a", [(1, 1)])] * 6]
)
def test_curves_that_cannot_be_drawn_are_refused(lines):
    with pytest.raises(InputError):
        curves(lines, title="t", axis="x", measure="y")


CHANNEL = [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]]


def shade(matrix=CHANNEL, names=(("<b>", "y"), ("p", "q", "r")), marked=1, beside=(0.25, 0.75), **options):
    options = {"title": "<script>", "axes": ("truth", "shown")} | options
    lists = [("before", list(beside)), ("after", list(beside))]
    return ET.fromstring(heat(matrix, *names, marked=marked, beside=lists, **options))


def test_shades_are_as_dark_as_the_probabilities():
    root = shade()
    cells = [cell for cell in root.iter(f"{SVG}rect") if cell.get("fill-opacity") is not None]
    assert [float(cell.get("fill-opacity")) for cell in cells] == [p for row in CHANNEL for p in row]
    assert cells[0].find(f"{SVG}title").text == "truth <b>, shown p: 0.5"
    (box,) = [one for one in root.iter(f"{SVG}rect") if one.get("class") == "marked"]
    assert (box.get("x"), box.get("width")) == (cells[1].get("x"), cells[1].get("width"))
    bars = [float(bar.get("width")) for bar in root.iter(f"{SVG}rect") if bar.get("class") == "out"]
    assert bars[0] / bars[1] == pytest.approx(1 / 3, abs=1e-3)
    assert root.find(f"{SVG}title").text == "<script>"
    assert "before: 0.250, 0.750. after: 0.250, 0.750." in root.find(f"{SVG}desc").text
    assert root.find(f"{SVG}style") is not None
    assert shade(bare=True).find(f"{SVG}style") is None


def test_no_shade_leaves_the_picture():
    for rows in (1, 3, 13):
        names = [str(i) for i in range(rows)]
        root = shade([[1 / rows] * rows] * rows, (names, names), 0, [1 / rows] * rows)
        _, _, wide, high = map(float, root.get("viewBox").split())
        for one in root.iter(f"{SVG}rect"):
            assert float(one.get("x", 0)) + float(one.get("width")) <= wide
            assert float(one.get("y", 0)) + float(one.get("height")) <= high


@pytest.mark.parametrize(
    "wrong",
    [
        {"matrix": []},
        {"matrix": [[1.0], [1.0]]},
        {"matrix": [[0.5, 0.5, math.nan], [1, 0, 0]]},
        {"matrix": [[0.5, 0.5, -0.5], [1, 0, 0]]},
        {"marked": 3},
        {"beside": (2.0, -1.0)},
        {"beside": (1.0,)},
    ],
)
def test_what_is_no_channel_is_not_drawn(wrong):
    with pytest.raises(InputError, match="a heat map needs"):
        shade(**wrong)


def test_zero_is_among_the_names_of_an_axis_and_the_last_one_fits():
    outputs = [f"{x / 10:g}" for x in range(-17, 26)]
    law = [1 / len(outputs)] * len(outputs)
    texts = [text for text in draw(outputs, law, law).iter(f"{SVG}text") if text.get("text-anchor") == "middle"]
    assert "0" in {text.text for text in texts}
    assert 3 < len(texts) < 20
    assert all(float(text.get("x")) + 3.5 * len(text.text) <= 420 for text in texts[:-1])


GROUPS = [
    BarGroup("prior uniform", [("cloaking", (1.0, 0.5)), ("optimal for uniform (interior)", (0.5, 0.25))]),
    BarGroup("dummies", [("prior uniform", (9.0, 0.9))], bars=False),
]


def test_bars_beside_names_are_as_wide_as_their_numbers():
    root = ET.fromstring(grouped_bars(GROUPS, ("error", "Bayes error"), title="Errors"))
    widths = [float(bar.get("width")) for bar in root.iter(f"{SVG}rect") if bar.get("class") == "in"]
    assert len(widths) == 4  # what has no bars is no scale either
    assert widths[0] / widths[2] == pytest.approx(2, rel=1e-3)
    assert widths[1] / widths[3] == pytest.approx(2, rel=1e-3)
    assert widths[0] == pytest.approx(widths[1])
    for text in ("optimal for uniform (interior)", "9.000", "0.250", "Bayes error", "dummies"):
        assert text in words(root)


def test_bars_and_their_numbers_stay_inside_the_picture():
    root = ET.fromstring(grouped_bars(GROUPS, ("error", "Bayes error"), title="Errors"))
    wide, high = map(float, root.get("viewBox").split()[2:])
    for text in root.iter(f"{SVG}text"):
        assert float(text.get("x")) + (5 if text.text[0].isdigit() else 0) * 7 <= wide
        assert float(text.get("y")) <= high


@pytest.mark.parametrize("rows", [[], [("a", (1.0,))], [("a", (-1.0, 0.0))], [("a", (math.nan, 0.0))]])
def test_what_are_no_bars_is_refused(rows):
    with pytest.raises(InputError):
        grouped_bars([BarGroup("g", rows)], ("x", "y"), title="t")
