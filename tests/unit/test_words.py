"""words.py: numbers are what was written, neighbours have their factors, and an exact number never escapes."""

import contextlib
import copy
import io
import json
import logging
import operator
import pickle
import tomllib
import traceback
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InputError
from sfumato.types import Adjacency, Exact, as_written, certainty, positive, probability, show, whole

TENTH = Fraction(1, 10)


@pytest.mark.parametrize(
    "written",
    [
        0.1,
        Decimal("0.1"),
        "0.1",
        " 0.1 ",
        "1e-1",
        "1/10",
        TENTH,
        np.float64(0.1),
        np.float32(0.1),
        tomllib.loads("e = 0.1")["e"],
        tomllib.loads("e = 0.1", parse_float=Decimal)["e"],
        json.loads("0.1"),
        json.loads("0.1", parse_float=Decimal),
    ],
    ids=repr,
)
def test_a_tenth_is_a_tenth_however_it_is_written(written):
    assert as_written(written) == TENTH
    assert 40 * as_written(written) == 4


@pytest.mark.parametrize("written", [7, 7.0, "7", "7.0", Decimal(7), np.int64(7), np.uint8(7), np.float64(7)], ids=repr)
def test_whole_numbers_of_every_kind(written):
    assert as_written(written) == 7
    assert isinstance(as_written(written), Fraction)


def test_long_decimals_keep_every_digit():
    text = "3." + "1234567890" * 20
    assert as_written(text) == Fraction(text)
    assert as_written(Decimal(text)) == Fraction(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_its_repr(x):
    assert as_written(x) == Fraction(repr(x))
    assert float(as_written(x)) == x


REFUSED = {
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "text nan": "nan",
    "text inf": "inf",
    "decimal nan": Decimal("nan"),
    "decimal snan": Decimal("snan"),
    "decimal inf": Decimal("-inf"),
    "numpy nan": np.float64("nan"),
    "numpy bool": np.bool_(True),
    "bool": True,
    "none": None,
    "empty": "",
    "words": "a tenth",
    "list": [0.1],
    "array": np.array([0.1]),
    "complex": 1j,
    "over nothing": "1/0",
    "huge exponent": "1e999999999",
    "more digits than Python prints": "1e4300",
    "tiny exponent": "1e-999999999",
    "huge decimal": Decimal("1e999999"),
    "huge exponent in digits": "1e" + "9" * 500,
    "just over": "1e5001",
    "long": "1" * 1001,
    "exact": Exact(1),
}


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_finite_number_is_refused_with_its_name(value):
    with pytest.raises(InputError, match=r"^epsilon must be") as caught:
        as_written(value, "epsilon")
    assert caught.value.sqlstate == "22023"


def test_the_largest_exponent_allowed_is_read():
    assert as_written("1e1000") == 10**1000
    assert as_written("1e-1000") == Fraction(1, 10**1000)


def test_positive_whole_and_probability_say_what_is_allowed():
    assert positive("1e-9", "x") == Fraction(1, 10**9)
    assert whole(3.0, "n") == 3
    assert whole(0, "n", low=0) == 0
    assert probability(0.5, "p") == Fraction(1, 2)
    for call, words in [
        (lambda: positive(0, "epsilon"), "epsilon must be above 0, but is 0"),
        (lambda: positive(-0.5, "epsilon"), "epsilon must be above 0, but is -0.5"),
        (lambda: whole(0.5, "size"), "size must be a whole number, but is 0.5"),
        (lambda: whole(1, "size", low=2), "size must be at least 2, but is 1"),
        (lambda: probability(1, "p"), "p must be above 0 and below 1, but is 1"),
        (lambda: probability(0, "p"), "p must be above 0 and below 1, but is 0"),
        (lambda: probability("3/2", "p"), "p must be above 0 and below 1, but is 1.5"),
        (lambda: certainty(1), "confidence must be above 0 and below 1, but is 1"),
        (lambda: certainty("0." + "9" * 400), "confidence must be at most 1 - 1e-100"),
    ]:
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.message == words


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(0), "0"),
        (5, "5"),
        (Fraction(-7), "-7"),
        (TENTH, "0.1"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(1, 3), "1/3"),
        (Fraction(-2, 7), "-2/7"),
        (Fraction(5, 2), "2.5"),
        (Fraction(1, 10**20), "0.00000000000000000001"),
        (Fraction(1, 10**21), "1/1000000000000000000000"),
        (Fraction(100), "100"),
        (Fraction(1001, 10), "100.1"),
    ],
)
def test_show_writes_as_people_do(number, text):
    assert show(number) == text


@given(st.fractions())
def test_what_is_shown_reads_back_as_the_same_number(number):
    assert as_written(show(number)) == number


@pytest.mark.parametrize(
    ("adjacency", "entries", "nonnegative", "l1", "l2_squared"),
    [
        ("add-remove", None, False, 1, 1),
        ("add-remove", 1, True, 1, 1),
        ("add-remove", 5, False, 1, 1),
        ("replace", None, False, 2, 4),
        ("replace", 1, False, 2, 4),
        ("replace", 5, True, 2, 2),
        ("replace", None, True, 2, 2),
        ("replace", 1, True, 1, 1),
    ],
)
def test_neighbours_differ_by_the_stated_factor(adjacency, entries, nonnegative, l1, l2_squared):
    kind = Adjacency.of(adjacency)
    norm = Fraction(3, 7)
    assert kind.sensitivity_l1(norm, entries=entries, nonnegative=nonnegative) == l1 * norm
    assert kind.sensitivity_l2_squared(norm, entries=entries, nonnegative=nonnegative) == l2_squared * norm


@given(st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=2, max_size=6), st.booleans())
def test_no_two_admissible_vectors_are_further_apart_than_the_factor_says(vectors, nonnegative):
    """Semantics 1.2, by trying: the norms of vectors within B, and of their differences."""
    vectors = [[abs(x) for x in v] if nonnegative else v for v in vectors]
    l1 = max(sum(map(abs, v)) for v in vectors)
    l2 = max(sum(x * x for x in v) for v in vectors)
    for u in vectors:
        for v in vectors:
            apart = [a - b for a, b in zip(u, v, strict=True)]
            assert sum(map(abs, apart)) <= Adjacency.REPLACE.sensitivity_l1(l1, nonnegative=nonnegative)
            assert sum(x * x for x in apart) <= Adjacency.REPLACE.sensitivity_l2_squared(l2, nonnegative=nonnegative)


def test_keys_count_twice_under_replace():
    assert Adjacency.ADD_REMOVE.keys(5) == 5
    assert Adjacency.REPLACE.keys(5) == 10


def test_an_unknown_adjacency_is_refused():
    with pytest.raises(InputError, match="add-remove"):
        Adjacency.of("bounded")


SECRET = 8675309
SEALED = {"number": Exact(SECRET), "array": Exact(np.array([SECRET, SECRET])), "again": Exact(Exact(SECRET))}


@pytest.fixture(params=SEALED.values(), ids=SEALED.keys())
def sealed(request):
    return request.param


def test_exact_prints_as_exact_in_every_way_of_printing(sealed):
    boxed = np.empty(1, dtype=object)
    boxed[0] = sealed
    stream = io.StringIO()
    log = logging.Logger("one")
    log.addHandler(logging.StreamHandler(stream))
    log.warning("value %s %r", sealed, sealed)
    log.warning("%s", {"value": [sealed]})
    print(sealed, [sealed], (sealed,), {"k": sealed}, file=stream)
    texts = [
        stream.getvalue(),
        str(sealed),
        repr(sealed),
        f"{sealed} {sealed!r} {sealed!s:>10} {sealed:>10} {sealed:.2f} {sealed:d}",
        f"{sealed:,}",
        "%s %r" % (sealed, sealed),  # noqa: UP031 - this way of printing is tested too
        repr(boxed),
    ]
    for text in texts:
        assert "<exact>" in text
        assert str(SECRET) not in text


def test_exact_does_not_show_in_a_traceback_with_locals(sealed):
    try:
        value = sealed
        value + 1
    except TypeError as error:
        report = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    assert "<exact>" in report
    assert str(SECRET) not in report


ESCAPES = {
    "equal": lambda e: e == SECRET,
    "equal itself": lambda e: e == e,  # noqa: PLR0124 - the very question
    "not equal": lambda e: e != SECRET,
    "less": lambda e: e < 1,
    "at most": lambda e: e <= 1,
    "more": lambda e: e > 1,
    "at least": lambda e: e >= 1,
    "right less": lambda e: operator.lt(1, e),
    "truth": bool,
    "not": operator.not_,
    "hash": hash,
    "key": lambda e: {e: 1},
    "int": int,
    "float": float,
    "complex": complex,
    "index": operator.index,
    "round": round,
    "bytes": bytes,
    "length": len,
    "iterate": list,
    "unpack": lambda e: [*e],
    "item": lambda e: e[0],
    "contains": lambda e: SECRET in e,
    "add": lambda e: e + 1,
    "right add": lambda e: 1 + e,
    "subtract": lambda e: e - 1,
    "right subtract": lambda e: 1 - e,
    "multiply": lambda e: 2 * e,
    "divide": lambda e: e / 2,
    "right divide": lambda e: 2 / e,
    "floor divide": lambda e: e // 2,
    "modulo": lambda e: e % 2,
    "power": lambda e: e**2,
    "negate": operator.neg,
    "absolute": abs,
    "sum": lambda e: sum([e]),
    "sorted": lambda e: sorted([e, e]),
    "max": lambda e: max(e, 0),
    "range": range,
    "pickle": pickle.dumps,
    "pickle protocol 0": lambda e: pickle.dumps(e, 0),
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "json": json.dumps,
    "vars": vars,
    "assign": lambda e: setattr(e, "_sealed", 1),
    "assign new": lambda e: setattr(e, "other", 1),
    "delete": lambda e: delattr(e, "_sealed"),
    "numpy array": lambda e: np.asarray(e, dtype=np.int64),
    "numpy objects": lambda e: np.array([e, None], dtype=object),
    "numpy add": lambda e: np.add(e, 1),
    "numpy left operand": lambda e: np.int64(1) + e,
    "numpy array operand": lambda e: np.array([1, 2]) * e,
    "numpy compare": lambda e: np.array([SECRET]) == e,
    "numpy sum": np.sum,
    "numpy fill": lambda e: np.full(2, e, dtype=np.int64),
    "format number": lambda e: "%d" % e,  # noqa: UP031 - this way of printing is tested too
    "fraction": Fraction,
    "decimal": Decimal,
    "isclose": lambda e: np.isclose(e, SECRET),
    "match": lambda e: [1 for value in [e] if value in {SECRET, 1}],
}


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES.keys())
def test_exact_refuses_every_way_out(sealed, escape):
    with pytest.raises((TypeError, AttributeError)) as caught:
        escape(sealed)
    assert str(SECRET) not in str(caught.value)


def test_exact_inside_containers_does_not_compare_or_copy(sealed):
    other = Exact(SECRET)
    for act in (lambda: [sealed] == [other], lambda: {"k": sealed} == {"k": other}, lambda: copy.deepcopy([sealed])):
        with pytest.raises(TypeError, match="only a mechanism can read"):
            act()


def test_exact_in_a_numpy_array_of_objects_stays_sealed(sealed):
    box = np.empty(1, dtype=object)
    box[0] = sealed
    for act in (lambda: box + 1, lambda: box.astype(np.int64), lambda: box == SECRET, lambda: box.sum() + 0):
        with pytest.raises(TypeError):
            act()
    assert str(SECRET) not in repr(box)


def test_a_mechanism_finds_inside_what_was_sealed():
    assert Exact(SECRET)._sealed == SECRET
    assert Exact(Exact(SECRET))._sealed == SECRET


def test_a_failed_escape_leaves_the_value_as_it_was():
    exact = Exact(SECRET)
    for escape in ESCAPES.values():
        with contextlib.suppress(TypeError, AttributeError):
            escape(exact)
    assert exact._sealed == SECRET
