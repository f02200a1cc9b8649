"""How much work a regular expression can be given: a matcher that counts its steps, and texts that make it go back.

It follows Python's own order of tries, without the shortcuts of the compiled one: what is linear here is linear there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from re import _constants as signs
from re import _parser as parser
from typing import Any

MOST = 200_000
"""Steps after which nobody waits for the end."""
ENDLESS = 64
"""A repetition that may be as long as this counts as one without end."""
_REPEATS = (signs.MAX_REPEAT, signs.MIN_REPEAT, signs.POSSESSIVE_REPEAT)
_CLASSES = {
    signs.CATEGORY_DIGIT: str.isdigit,
    signs.CATEGORY_SPACE: str.isspace,
    signs.CATEGORY_WORD: lambda sign: sign.isalnum() or sign == "_",
    signs.CATEGORY_NOT_DIGIT: lambda sign: not sign.isdigit(),
    signs.CATEGORY_NOT_SPACE: lambda sign: not sign.isspace(),
    signs.CATEGORY_NOT_WORD: lambda sign: not (sign.isalnum() or sign == "_"),
}
_SOME = "a1 -'\"\\\0.,:/(é"


class TooMany(Exception):
    """More steps than `MOST`."""


class Matcher:
    """One pattern over one text."""

    def __init__(self, pattern: re.Pattern[Any], text: str) -> None:
        source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        flags = pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
        self.tree = parser.parse(source, flags)
        self.text, self.flags, self.steps = text, flags, 0

    def work(self, how: str) -> int:
        """The steps that a method of the pattern takes over the text."""
        end = len(self.text)
        if how == "fullmatch":
            self._seq(self.tree, 0, 0, self.flags, lambda at: at == end)
            return self.steps
        at = 0
        while at <= end:
            ends: list[int] = []
            found = self._seq(self.tree, 0, at, self.flags, lambda to, ends=ends: not ends.append(to))
            if how == "match" or (found and how == "search"):
                return self.steps
            at = max(at + 1, ends[0] if ends else 0)
        return self.steps

    def _tick(self) -> None:
        self.steps += 1
        if self.steps > MOST:
            raise TooMany

    def _seq(  # noqa: PLR0911  one line for each kind of part
        self, items: Any, place: int, at: int, flags: int, then: Callable[[int], bool]
    ) -> bool:
        self._tick()
        if place == len(items):
            return then(at)
        kind, value = items[place]

        def go_on(to: int) -> bool:
            return self._seq(items, place + 1, to, flags, then)

        if kind is signs.BRANCH:
            return any(self._seq(branch, 0, at, flags, go_on) for branch in value[1])
        if kind is signs.SUBPATTERN:
            _, more, less, inner = value
            return self._seq(inner, 0, at, (flags | more) & ~less, go_on)
        if kind is signs.ATOMIC_GROUP:
            end = self._first(value, at, flags)
            return end is not None and go_on(end)
        if kind is signs.POSSESSIVE_REPEAT:
            return self._possessive(value, at, flags, go_on)
        if kind in _REPEATS:
            return self._repeat(value, 0, at, flags, go_on, lazy=kind is signs.MIN_REPEAT)
        if kind in (signs.ASSERT, signs.ASSERT_NOT):
            start = at if value[0] >= 0 else at - value[1].getwidth()[0]
            there = start >= 0 and self._first(value[1], start, flags) is not None
            return there is (kind is signs.ASSERT) and go_on(at)
        if kind is signs.AT:
            return self._stands(value, at) and go_on(at)
        return at < len(self.text) and is_one(kind, value, self.text[at], flags) and go_on(at + 1)

    def _first(self, inner: Any, at: int, flags: int) -> int | None:
        ends: list[int] = []
        return ends[0] if self._seq(inner, 0, at, flags, lambda to: not ends.append(to)) else None

    def _possessive(self, value: Any, at: int, flags: int, go_on: Callable[[int], bool]) -> bool:
        least, most, inner = value
        count = 0
        while count < most:
            end = self._first(inner, at, flags)
            if end is None or end == at:
                break
            at, count = end, count + 1
        return count >= least and go_on(at)

    def _repeat(self, value: Any, done: int, at: int, flags: int, go_on: Callable[[int], bool], *, lazy: bool) -> bool:
        least, most, inner = value

        def again() -> bool:
            return done < most and self._seq(
                inner,
                0,
                at,
                flags,
                lambda to: (to > at or done < least) and self._repeat(value, done + 1, to, flags, go_on, lazy=lazy),
            )

        if lazy:
            return (done >= least and go_on(at)) or again()
        return again() or (done >= least and go_on(at))

    def _stands(self, where: Any, at: int) -> bool:
        text = self.text
        if where in (signs.AT_BEGINNING, signs.AT_BEGINNING_STRING):
            several = where is signs.AT_BEGINNING and self.flags & re.MULTILINE
            return at == 0 or bool(several and text[at - 1] == "\n")
        if where in (signs.AT_END, signs.AT_END_STRING):
            return at == len(text) or (where is signs.AT_END and text[at:] == "\n")
        edge = (at > 0 and _is_word(text[at - 1])) != (at < len(text) and _is_word(text[at]))
        return edge is (where is signs.AT_BOUNDARY)


def _is_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def is_one(kind: Any, value: Any, sign: str, flags: int) -> bool:
    """Whether a sign is one of those that a part of a pattern stands for."""
    if kind is signs.ANY:
        return bool(flags & re.DOTALL) or sign != "\n"
    if flags & re.IGNORECASE:
        return any(_is_exactly(kind, value, form) for form in {sign.lower(), sign.upper()} if len(form) == 1)
    return _is_exactly(kind, value, sign)


def _is_exactly(kind: Any, value: Any, sign: str) -> bool:
    if kind is signs.LITERAL:
        return ord(sign) == value
    if kind is signs.NOT_LITERAL:
        return ord(sign) != value
    if kind is signs.RANGE:
        return bool(value[0] <= ord(sign) <= value[1])
    if kind is signs.CATEGORY:
        return bool(_CLASSES[value](sign))
    assert kind is signs.IN, kind
    negated = bool(value) and value[0][0] is signs.NEGATE
    return negated is not any(_is_exactly(*one, sign) for one in (value[1:] if negated else value))


def examples(items: Any) -> list[str]:
    """A few texts that a pattern matches: each part in its forms, repetitions not at all, once, and three times."""
    parts = [_of_part(kind, value) for kind, value in items]
    first = "".join(part[0] for part in parts if part)
    found = [first, "".join(part[-1] for part in parts if part)]
    for place, part in enumerate(parts):
        before = "".join(one[0] for one in parts[:place] if one)
        after = "".join(one[0] for one in parts[place + 1 :] if one)
        found += [f"{before}{form}{after}" for form in part[1:]]
    return list(dict.fromkeys(found))[:8]


def _of_part(kind: Any, value: Any) -> list[str]:  # noqa: PLR0911  one line for each kind of part
    if kind is signs.BRANCH:
        return list(islice((text for branch in value[1] for text in examples(branch)), 12))
    if kind is signs.SUBPATTERN:
        return examples(value[3])
    if kind is signs.ATOMIC_GROUP:
        return examples(value)
    if kind in _REPEATS:
        least, most, inner = value
        counts = [count for count in dict.fromkeys((max(1, least), 3, least)) if least <= count <= most]
        return [text * count for text in examples(inner)[:4] for count in counts]
    if kind in (signs.ASSERT, signs.ASSERT_NOT, signs.AT):
        return [""]
    if kind is signs.IN and value[0][0] is not signs.NEGATE:
        return [sign for one in value for sign in _of_part(*one)[:1]][:4]
    if kind in (signs.LITERAL, signs.RANGE):
        return [chr(value if kind is signs.LITERAL else value[0])]
    return [sign for sign in _SOME if is_one(kind, value, sign, 0)][:3]


def attacks(pattern: re.Pattern[Any], times: int) -> Iterator[str]:
    """For each repetition: what stands before it, what it repeats so often, and an end that nothing matches."""
    tree = Matcher(pattern, "").tree
    known = sorted(_letters(tree))[:12]
    for before, inner in _repetitions(tree, ""):
        (kind, value), one = inner[0], len(inner) == 1 and inner[0][0] in (signs.ANY, signs.IN, signs.NOT_LITERAL)
        more = [sign for sign in known if is_one(kind, value, sign, pattern.flags)] if one else []
        for word in dict.fromkeys((*examples(inner), *more)):
            for end in ("", " \0", " x"):
                yield before + word * times + end


def _letters(items: Any) -> set[str]:
    """The signs that a pattern names."""
    found: set[str] = set()
    for part in items:
        if isinstance(part, tuple) and part[:1] == (signs.LITERAL,):
            found.add(chr(part[1]))
        elif isinstance(part, tuple | list | parser.SubPattern):
            found |= _letters(part)
    return found


def _repetitions(items: Any, before: str) -> Iterator[tuple[str, Any]]:
    for kind, value in items:
        if kind in _REPEATS:
            if value[1] >= ENDLESS:
                yield before, value[2]
            yield from _repetitions(value[2], before)
        elif kind is signs.BRANCH:
            for branch in value[1]:
                yield from _repetitions(branch, before)
        elif kind in (signs.SUBPATTERN, signs.ATOMIC_GROUP):
            yield from _repetitions(value[3] if kind is signs.SUBPATTERN else value, before)
        elif kind in (signs.ASSERT, signs.ASSERT_NOT):
            yield from _repetitions(value[1], before)
        before += (_of_part(kind, value) or [""])[0]


@contextmanager
def deep() -> Iterator[None]:
    """Room for one call for each character."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def growth(pattern: re.Pattern[Any], how: str, times: int = 16) -> tuple[float, str]:
    """By how much the worst work grows when a text doubles, and the text; twice as much is what nobody can avoid."""
    worst = (0.0, "")
    with deep():
        for short, long in zip(attacks(pattern, times), attacks(pattern, 2 * times), strict=True):
            try:
                few, many = Matcher(pattern, short).work(how), Matcher(pattern, long).work(how)
            except TooMany:
                return float("inf"), long
            worst = max(worst, (many / few, long))
    return worst
