"""What a regular expression takes out of a text, not only whether it matches: where all engines mean the same.

Comes in: a pattern that `patterns.problem` has nothing against. Goes out: why its match is not the same everywhere, its
groups, its spelling without regard to case.

PostgreSQL takes the longest match from the leftmost place; RE2 takes what a reader finds who goes from left to right,
each repetition as often as it can. The two are the same text where the end is fixed by `$`, where at every repetition
the next character decides alone whether it goes on, or where that is open at one repetition of characters only, and
what follows it has a fixed length but for a last repetition of characters (`^.*@`, `.*/[^/]+`).

Guarantee: a pattern without an ambiguity takes the same text, and the same groups, by both rules.
Proof: without | a match is given by how often each piece is repeated. If each piece and what may follow it begin with
    different characters, the text allows one such number at most at each piece, going on as long as it can, so there is
    one match from each place at most, but for the last piece, which both rules take as often as they can. If the
    pattern ends in $ all matches from a place have one length, and among those both rules give the earlier piece the
    more. Let one repetition be open, k its number, f the fixed length after it, and let a last repetition of
    characters C take c(k). What comes before is decided, so a match from a place is given by k. RE2 takes the largest k
    that matches. Of two that match, k < l, the end of k is not beyond that of l: if it were, all characters from l + f
    to the end of k would be in C, for they are in the part that C took after k + f; so C could take them after l + f,
    and these are fewer than it took after k + f, which its largest number allows. So the largest k has the longest
    match, and among equally long ones PostgreSQL gives the earlier piece the more, too.
Reference: PostgreSQL 15, 9.7.3.5 (regular expression matching rules); RE2, leftmost-first matching.
Checked by: laws::what_a_pattern_takes_is_the_longest_match
"""

from __future__ import annotations

import string
from dataclasses import dataclass


@dataclass(frozen=True)
class Characters:
    """A set of characters, or all but those."""

    members: frozenset[str]
    negated: bool = False

    def meets(self, other: Characters) -> bool:
        """Whether a character is in both."""
        if self.negated and other.negated:
            return True
        if self.negated:
            return not other.members <= self.members
        return not self.members <= other.members if other.negated else bool(self.members & other.members)


@dataclass(frozen=True)
class Piece:
    """An atom with its repetition: characters, a group of branches, or an anchor (neither)."""

    characters: Characters | None
    branches: tuple[tuple[Piece, ...], ...] = ()
    captured: bool = False
    least: int = 1
    most: int | None = 1
    anchor: str = ""


_ANY = Characters(frozenset(), negated=True)


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0

    def branches(self) -> tuple[tuple[Piece, ...], ...]:
        found, pieces = [], list[Piece]()
        while self.at < len(self.pattern) and self.pattern[self.at] != ")":
            if self.pattern[self.at] == "|":
                self.at += 1
                found.append(tuple(pieces))
                pieces = []
            else:
                pieces.append(self.piece())
        return (*found, tuple(pieces))

    def piece(self) -> Piece:
        sign = self.pattern[self.at]
        self.at += 1
        if sign in "^$":
            return Piece(None, anchor=sign)
        captured, characters = False, None
        branches: tuple[tuple[Piece, ...], ...] = ()
        if sign == "(":
            captured = not self.pattern.startswith("?:", self.at)
            self.at += 0 if captured else 2
            branches = self.branches()
            self.at += 1
        elif sign == "[":
            characters = self.listed()
        elif sign == ".":
            characters = _ANY
        else:
            if sign == "\\":
                sign = self.pattern[self.at]
                self.at += 1
            characters = Characters(frozenset(sign))
        least, most = self.times()
        return Piece(characters, branches, captured, least, most)

    def times(self) -> tuple[int, int | None]:
        sign = self.pattern[self.at : self.at + 1]
        known: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if sign in known:
            self.at += 1
            return known[sign]
        if sign != "{":
            return 1, 1
        end = self.pattern.index("}", self.at)
        least, comma, most = self.pattern[self.at + 1 : end].partition(",")
        self.at = end + 1
        return int(least), (int(most) if most else None) if comma else int(least)

    def listed(self) -> Characters:
        negated = self.pattern[self.at] == "^"
        self.at += negated
        end = self.pattern.index("]", self.at)
        body, members, i = self.pattern[self.at : end], set[str](), 0
        self.at = end + 1
        while i < len(body):
            if body[i + 1 : i + 2] == "-" and i + 2 < len(body):
                members |= {chr(c) for c in range(ord(body[i]), ord(body[i + 2]) + 1)}
                i += 3
            else:
                members.add(body[i])
                i += 1
        return Characters(frozenset(members), negated)


def read(pattern: str) -> tuple[tuple[Piece, ...], ...]:
    """The branches of a pattern."""
    return _Reader(pattern).branches()


def ambiguity(pattern: str, *, parts: bool) -> str | None:
    """Why what the pattern takes is not the same everywhere; `parts`: its groups matter, not the match alone."""
    branches = read(pattern)
    ends = len(branches) == 1 and bool(branches[0]) and branches[0][-1].anchor == "$"
    if _divided(branches) and (parts or not ends):
        return "engines match | differently; write a list such as [ab], or two expressions"
    if parts and any(_holds_groups(piece) for branch in branches for piece in branch if _varies(piece)):
        return "a group inside a repetition may be missing"
    if ends or _decided(branches[0], ()) or _one_open(_flat(branches[0])):
        return None
    return "a repetition is followed by characters that it could take itself; end the pattern with $"


def _divided(branches: tuple[tuple[Piece, ...], ...]) -> bool:
    return len(branches) > 1 or any(_divided(piece.branches) for piece in branches[0] if piece.branches)


def _varies(piece: Piece) -> bool:
    return piece.least != piece.most


def _holds_groups(piece: Piece) -> bool:
    return piece.captured or any(_holds_groups(inner) for branch in piece.branches for inner in branch)


def _first(pieces: tuple[Piece, ...], after: tuple[Characters, ...]) -> tuple[Characters, ...]:
    """What may come first in these pieces, and what follows them."""
    found: tuple[Characters, ...] = ()
    for piece in pieces:
        if piece.anchor:
            continue
        if piece.characters is not None:
            found += (piece.characters,)
        elif piece.branches:
            found += _first(piece.branches[0], ())
        if piece.least and (piece.characters is not None or not _empty(piece.branches[0])):
            return found
    return found + after


def _decided(pieces: tuple[Piece, ...], after: tuple[Characters, ...]) -> bool:
    """Whether the next character decides at every repetition."""
    for i, piece in enumerate(pieces):
        following = _first(pieces[i + 1 :], after)
        own = (
            (piece.characters,)
            if piece.characters is not None
            else _first(piece.branches[0], ())
            if piece.branches
            else ()
        )
        if _varies(piece) and any(a is not None and a.meets(b) for a in own for b in following):
            return False
        if piece.branches:
            if _varies(piece) and piece.most != 1:
                return False  # a repeated group: its end may be its beginning
            if not _decided(piece.branches[0], following):
                return False
    return True


def _flat(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The pieces, with those of groups that are there once in the place of the groups."""
    found: list[Piece] = []
    for piece in pieces:
        found += _flat(piece.branches[0]) if piece.branches and piece.least == piece.most == 1 else [piece]
    return tuple(found)


def _one_open(pieces: tuple[Piece, ...]) -> bool:
    """Whether the next character decides at every repetition but one, of characters, after which lengths are fixed."""
    for i, piece in enumerate(pieces):
        following = _first(pieces[i + 1 :], ())
        if _decided((piece,), following):
            continue
        *fixed, last = pieces[i + 1 :] or (piece,)
        ends = all(one.characters is not None for one in (piece, *fixed, last))
        return ends and not any(map(_varies, fixed))
    return True


def fixed_length(pattern: str) -> int | None:
    """How many characters every match has; None where that is not one number."""
    lengths = {_length(branch) for branch in read(pattern)}
    return lengths.pop() if len(lengths) == 1 else None


def _length(pieces: tuple[Piece, ...]) -> int | None:
    total = 0
    for piece in pieces:
        if piece.anchor:
            continue
        inner = {1} if piece.characters is not None else {_length(branch) for branch in piece.branches}
        size = inner.pop() if len(inner) == 1 else None
        if size is None or _varies(piece):
            return None
        total += size * piece.least
    return total


def without_groups(pattern: str) -> str:
    """The pattern with groups that are not captured.

    >>> without_groups("(a|[(])b")
    '(?:a|[(])b'
    """
    found, at, listing = "", 0, False
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\" and not listing:
            found, at = found + pattern[at : at + 2], at + 2
            continue
        opened = sign == "(" and not listing and not pattern.startswith("?:", at + 1)
        listing = sign == "[" or (listing and sign != "]")
        found, at = found + ("(?:" if opened else sign), at + 1
    return found


def _empty(pieces: tuple[Piece, ...]) -> bool:
    return all(
        piece.anchor or not piece.least or (piece.characters is None and any(map(_empty, piece.branches)))
        for piece in pieces
    )


def may_be_empty(pattern: str) -> bool:
    """Whether the pattern matches the empty text somewhere."""
    return any(map(_empty, read(pattern)))


def groups(pattern: str) -> int:
    """How many groups a replacement may name."""
    return sum(piece.captured + _inner(piece) for branch in read(pattern) for piece in branch)


def _inner(piece: Piece) -> int:
    return sum(one.captured + _inner(one) for branch in piece.branches for one in branch)


def template(text: str) -> list[str | int] | None:
    r"""The parts of a replacement: text, and numbers of groups, 0 for the whole match; None for another backslash.

    >>> template(r"<\1>\\")
    ['<', 1, '>', '\\']
    """
    found: list[str | int] = []
    signs = iter(text)
    for sign in signs:
        if sign != "\\":
            found.append(sign)
            continue
        following = next(signs, "")
        if following and following in string.digits[1:]:
            found.append(int(following))
        elif following in ("&", "\\"):
            found.append(0 if following == "&" else "\\")
        else:
            return None
    return found


def any_case(pattern: str) -> str | None:
    """The pattern for both cases of every ASCII letter, as PostgreSQL's ~* reads it; None with other letters.

    >>> any_case("^a[b-d]")
    '^[aA][b-dB-D]'
    """
    if not pattern.isascii():
        return None
    found, at, inside = "", 0, False
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            found, at = found + pattern[at : at + 2], at + 2
            continue
        if inside and pattern[at + 1 : at + 2] == "-" and pattern[at + 2 : at + 3] not in ("]", ""):
            part = pattern[at : at + 3]
            found += part + (part.swapcase() if part[0].isalpha() else "")
            at += 3
            continue
        inside = (inside or sign == "[") and sign != "]"
        both = sign + sign.swapcase() if sign.isalpha() else sign
        found += both if inside or not sign.isalpha() else f"[{both}]"
        at += 1
    return found
