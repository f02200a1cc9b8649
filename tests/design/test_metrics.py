"""Metrics and gains of the drawing board."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from sfumato import design
from sfumato.design.gains import gains
from sfumato.design.metrics import added, along, distances, grid, largest, same, scaled, triangle_fault
from sfumato.errors import InputError
from sfumato.mechanisms import Channel
from sfumato.reals import Real

F = Fraction
LECTURE = [(32, 0, 27), (32, "0.01", 27), (32, 10**6, 27)]


def test_the_databases_of_the_lecture_have_the_distances_of_the_slides():
    assert distances("hamming", [(32, 41, 27), (32, 52, 27), (21, 52, 27)])[0] == (0, 1, 2)
    assert distances("hamming", LECTURE)[0] == (0, 1, 1)
    assert distances("manhattan", LECTURE)[0] == (0, F(1, 100), 10**6)
    assert distances("normalised-manhattan", LECTURE)[0] == (0, F(1, 10**8), 1)
    assert distances("normalized_manhattan", LECTURE) == distances("normalised-manhattan", LECTURE)


def test_absence_of_a_record_is_a_difference_in_hamming_and_no_number():
    assert distances("hamming", [(1, None), (1, 2)])[0][1] == 1
    with pytest.raises(InputError, match="an absent record"):
        distances("manhattan", [(1, None), (1, 2)])
    with pytest.raises(InputError, match="one length"):
        distances("hamming", [(1,), (1, 2)])


def test_roots_are_fractions_where_they_are_and_equal_ones_are_one_object():
    points = grid(5)
    table = distances("euclidean", points)
    assert table[0][points.index((3, 4))] == F(5)
    corner, across = points.index((4, 4)), points.index((1, 1))
    assert isinstance(table[0][across], Real)
    assert same(table[0][across], table[across][0])
    assert same(table[0][across], table[corner][points.index((3, 3))])
    assert same(largest([d for row in table for d in row]), table[0][corner])
    assert float(table[0][corner]) ** 2 == pytest.approx(32)
    assert triangle_fault(distances("euclidean", grid(3))) is None


def test_what_is_no_metric_is_said():
    assert triangle_fault(distances([[0, 1, 5], [1, 0, 1], [5, 1, 0]], "abc")) == (0, 1, 2)
    for wrong in ([[0, 1], [2, 0]], [[1, 1], [1, 0]], [[0, 1]], [[0, -1], [-1, 0]]):
        with pytest.raises(InputError):
            distances(wrong, [0, 1])
    with pytest.raises(InputError, match="symmetric"):
        distances(lambda x, y: max(0, x - y), [0, 1])
    with pytest.raises(InputError, match="not known"):
        distances("taxi", [0, 1])
    with pytest.raises(InputError, match="differ"):
        distances("normalised-manhattan", [(1, 1), (1, 1)])


def test_metrics_are_scaled_added_and_followed_along_a_graph():
    line = distances("manhattan", [0, 1, 2])
    assert scaled(line, "0.5")[0] == (0, F(1, 2), 1)
    assert added(line, scaled(line, 2))[0] == (0, 3, 6)
    assert along([(0, 1), (1, 2)], [0, 1, 2, 3]) == [
        [0, 1, 2, None],
        [1, 0, 1, None],
        [2, 1, 0, None],
        [None] * 3 + [0],
    ]
    with pytest.raises(InputError):
        along([(0, 9)], [0])


def test_a_channel_has_names_and_takes_a_metric_by_name():
    channel = Channel([[F(2, 3), F(1, 3)], [F(1, 3), F(2, 3)]], inputs=[10, 14], outputs=["low", "high"])
    assert channel.epsilon("manhattan") * 4 - channel.epsilon() <= F(4, 10**15)
    assert channel.epsilon("hamming") == channel.epsilon(lambda x, y: 1 if x != y else 0) == channel.epsilon()
    assert channel.release(14) in ("low", "high")
    with pytest.raises(InputError, match="not an input"):
        channel.release(1)
    with pytest.raises(InputError, match="no name twice"):
        Channel([[1], [1]], inputs=["a", "a"])
    plane = Channel(channel.matrix, inputs=[(0, 0), (1, 1)])
    assert 0 <= float(plane.epsilon("euclidean")) * 2**0.5 - float(channel.epsilon()) < 1e-14


def test_gains_are_those_of_the_lecture():
    assert gains("identity", "ab") == ((1, 0), (0, 1))
    assert gains("distance", [0, 1, 3]) == ((3, 2, 0), (2, 3, 1), (0, 1, 3))
    assert gains("loss", [0, 1, 3])[0] == (0, -1, -3)
    assert gains("distance", [0, 2], guesses=[0, 1, 2]) == ((2, 0), (1, 1), (0, 2))
    assert gains(lambda w, x: w == x, [0, 1]) == gains([[1, 0], [0, 1]], [0, 1])
    plane = gains("distance", grid(2))
    assert (plane[0][3], float(plane[0][0])) == (0, pytest.approx(2**0.5))
    for wrong in ("idendity", [[1]], [["x", 0], [0, 1]]):
        with pytest.raises(InputError):
            gains(wrong, [0, 1])


def test_the_room_is_light_and_no_file_hides_a_name():
    code = "from sfumato import design; import sys; print('numpy' in sys.modules, 'sfumato.mechanisms' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert shown == "False False\n"
    files = {path.stem for path in Path(design.__file__).parent.glob("*.py")}
    names = [name for name in dir(design) if not name.startswith("_") and callable(getattr(design, name))]
    assert {"sensitivity", "channel", "posterior", "utility", "universal"} <= set(names)
    assert not files & set(design.__all__)
