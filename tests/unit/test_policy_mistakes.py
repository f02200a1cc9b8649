"""Mistakes in a policy: each is one PolicyError, at its place, in words; and nothing else is ever raised."""

import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import PolicyError
from sfumato.policy import from_dict, parse
from tests.unit.policy_sample import EXAMPLE, HOME, JOINED, MARK, MISTAKES, SMALL, document, edited, refusal

ALL = {f"{group}: {name}": edit for group, names in MISTAKES.items() for name, edit in names.items()}


def mistaken(name):
    """The text with the mistake, and where the error must point."""
    edits = ALL[name]
    text = edited(*(edits if isinstance(edits[0], tuple) else [edits]))
    assert text.count(MARK) == 1, name
    before, after = text.split(MARK)
    lines = before.split("\n")
    return before + after, len(lines), len(lines[-1]) + 1


@pytest.mark.parametrize("name", ALL)
def test_a_mistake_is_shown_at_its_place(name):
    text, line, column_ = mistaken(name)
    error = refusal(text)
    assert error.detail == f"sfumato.toml, line {line}, column {column_}", error.message
    lines = text.split("\n")
    assert error.position == sum(len(row) + 1 for row in lines[: line - 1]) + column_
    assert "\n" not in error.message
    assert not error.message.endswith(".")
    assert error.message[0] in '["' or error.message[0].islower()
    assert error.sqlstate == "F0000"
    assert error.hint is None or error.hint.endswith((".", "?"))


@pytest.mark.parametrize("group", MISTAKES)
def test_refusals_read_well(golden, group):
    parts = []
    for name in MISTAKES[group]:
        text, line, _ = mistaken(f"{group}: {name}")
        parts.append(f"# {name}\n> {text.split(chr(10))[line - 1].rstrip()[:110]}\n{refusal(text)}\n")
    golden(f"policy/{group}.txt", "\n".join(parts))


def test_there_are_enough_mistakes():
    assert len(ALL) >= 60
    assert len({refusal(mistaken(name)[0]).message for name in ALL}) > 0.8 * len(ALL)


def test_a_circle_of_joins_is_refused():
    tables = {
        a: {"unit": {"join": b, "on": "x = x"}, "rows_per_unit": 1, "columns": {"x": {"type": "integer"}}}
        for a, b in ("ab", "bc", "cb")
    }
    with pytest.raises(PolicyError, match=r"join in \[tables\.b\.unit\] is circular"):
        from_dict(document(tables=tables))


def test_no_table_at_all():
    with pytest.raises(PolicyError, match="the policy names no table"):
        from_dict(document(tables={}))


def test_an_error_without_a_file_name_still_has_its_place():
    assert refusal(SMALL.replace("epsilon = 2", "epsilon = 0"), None).detail == "line 7, column 11"


def test_lines_that_end_as_on_windows_count_the_same():
    text, *_ = mistaken("tables: unknown key")
    assert refusal(text.replace("\n", "\r\n")).to_dict() == refusal(text).to_dict()


# --- any single key -----------------------------------------------------------------------------------------------

PAIR = re.compile(
    r"(?P<key>\w+)(?P<gap>\s*=\s*)(?P<value>\{.*?\}(?=\s*(?:#|$))|\[[^\]]*\]|\"[^\"]*\"|[\w.:-]+)", re.MULTILINE
)
BARE = "\n".join(re.sub(r"\s+#.*|^#.*", "", row) for row in EXAMPLE.split("\n"))
"""The sample without comments, which no key may be mistaken for."""


def pairs():
    """Every key of the sample with the span of its pair: those of lines, and those inside of { }."""
    for found in PAIR.finditer(BARE):
        yield found.group("key"), found.start(), found.end()
        if found.group("value").startswith("{"):
            for inner in PAIR.finditer(BARE, found.start("value"), found.end("value")):
                yield inner.group("key"), inner.start(), inner.end()
    for found in re.finditer(r"^\[(?:\w+\.)*(\w+)\]", BARE, re.MULTILINE):
        yield found.group(1), found.start(1), found.end(1)


PAIRS = list(pairs())


def offender(message):
    """The key that a message is about; None where it is the document as a whole."""
    for form in (
        r'^unknown key "([\w-]+)"',
        r'^table "([\w-]+)" has no file',
        r"^\[(?:[\w-]+\.)*([\w-]+)\] (?:has|is) ",
        r"^([\w-]+) in \[",
        r'^"[\w-]+" and "([\w-]+)" in .* differ only in case',
        r"^(the policy) (?:has no \[|names no table)",
        r"^(the policy) is not TOML: ",
    ):
        if found := re.search(form, message):
            return None if found[1] == "the policy" else found[1]
    pytest.fail(f"whom does this accuse? {message}")


def caught(read, given):
    """The PolicyError, or None; anything else goes through and fails the test."""
    try:
        read(given)
    except PolicyError as error:
        return error
    return None


def check_one_mistake(text):
    error = caught(parse, text)
    if error is not None:
        line = int(re.fullmatch(r"line (\d+), column \d+", error.detail)[1])
        key = offender(error.message)
        written = text.split("\n")[line - 1]
        assert key is None or re.search(rf"(?<![\w-]){key}(?![\w-])", written), (error.message, error.detail)
    return error


def test_the_sample_has_its_keys():
    assert len(PAIRS) == len(re.findall(r"=", BARE)) + len(re.findall(r"^\[", BARE, re.MULTILINE)) > 60


@pytest.mark.parametrize("index", range(len(PAIRS)))
def test_a_key_that_is_removed(index):
    key, start, end = PAIRS[index]
    if BARE[start - 1] in "[.":
        text = BARE[: BARE.rindex("\n", 0, start) + 1 if start > 1 else 0] + BARE[BARE.index("\n", end) :]
    else:
        comma = BARE[end : end + 2] == ", "
        text = BARE[:start] + BARE[end + 2 * comma :]
        text = re.sub(r",\s*\}", " }", text)
    error = check_one_mistake(text)
    if BARE[start - 1] == "\n" and key in {"id", "epsilon", "unit", "rows_per_unit", "engine", "files"}:
        assert error is not None


@given(st.sampled_from(PAIRS), st.integers(0, 20), st.sampled_from(["x", "_", "e", "A", "9", "-"]), st.booleans())
def test_a_key_that_is_misspelled(pair, at, letter, swallow):
    key, start, _ = pair
    place = start + at % (len(key) + 1)
    text = BARE[:place] + letter + BARE[place + (swallow and place < start + len(key)) :]
    error = check_one_mistake(text)
    written = text[start : start + len(key) + 1]
    closed = {"type", "min", "max", "grid", "max_length", "engine", "files", "id", "version", "ledger", "delta", "unit"}
    if key in closed and not swallow:
        assert error is not None
        assert error.message.startswith(f'unknown key "{written}"')


TOKENS = st.sampled_from(
    ["[", "]", "{", "}", "=", ",", ".", '"', "'", '"""', "'''", "#", "\n", "\\", "\0", "-", "1e9", "nan", "[[", "true"]
)


@given(st.data())
def test_no_mutation_of_the_text_raises_anything_else(data):
    text = data.draw(st.sampled_from([EXAMPLE, JOINED, SMALL]))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.sampled_from([0, 0, 1, 2, 5, 30, 300]))
        text = text[:start] + data.draw(TOKENS | st.text(max_size=5)) + text[end:]
    error = caught(lambda given: parse(given, HOME), text)
    if error is not None:
        line, column_ = map(int, re.fullmatch(r"sfumato\.toml, line (\d+), column (\d+)", error.detail).groups())
        lines = text.replace("\r\n", "\n").split("\n")
        assert 1 <= line <= len(lines)
        assert 1 <= column_ <= len(lines[line - 1]) + 1


ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.dates() | st.datetimes()
ANYTHING = st.recursive(
    ATOMS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
)


@given(st.data(), ANYTHING)
def test_no_value_in_a_document_raises_anything_else(data, value):
    content = tomllib.loads(data.draw(st.sampled_from([EXAMPLE, JOINED, SMALL])))
    inner = content
    while True:
        key = data.draw(st.sampled_from(list(inner)))
        if not isinstance(inner[key], dict) or not inner[key] or data.draw(st.integers(0, 9)) == 0:
            break
        inner = inner[key]
    inner[key] = value
    error = caught(from_dict, content)
    assert error is None or error.detail is None
