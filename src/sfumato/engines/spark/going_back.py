"""How often Java's machine for regular expressions may go back over a text: a bound before anything is run.

Comes in: a pattern that `patterns.problem` has nothing against, and the longest text that it meets. Goes out: a number
of steps. That machine tries one way after another, so that a few repetitions one after the other take a time that grows
with a power of the text's length: how long a run takes would tell what one row holds.

Guarantee: a search of a pattern in a text of at most so many characters tries at most `steps` times a piece of it, up
    to a factor of the pattern's own length.
Proof: by the number of pieces, from the last to the first. Let C be the steps of what follows. A piece that is repeated
    a fixed number of times adds as many. One that may stop after each of n times is followed by C each time; but where
    no character of it may begin what follows, all but the last of its ends fail at the next character. The branches of
    a group are tried one after the other, each followed by C. A search begins at each place, unless it begins with ^.
    Groups that are repeated are refused before.
Reference: java.util.regex.Pattern; R. Cox, Regular expression matching can be simple and fast, 2007.
Checked by: unit::a_pattern_that_goes_back_too_often_is_refused, unit::the_bound_is_above_what_a_machine_counts
"""

from __future__ import annotations

from sfumato.algebra.pattern_meaning import Characters, Piece, read

MOST = 10**8
"""Steps for one text: about a second."""


def repeats_groups(pattern: str) -> bool:
    """Whether a group is repeated: each time needs room on the stack, and may be tried in many ways."""
    return any(_repeats(piece) for branch in read(pattern) for piece in branch)


def _repeats(piece: Piece) -> bool:
    inner = any(_repeats(one) for branch in piece.branches for one in branch)
    return inner or (bool(piece.branches) and piece.most != 1)


def steps(pattern: str, length: int) -> int:
    """The most steps of a search in a text of at most so many characters.

    >>> steps("^[a-z]*0", 100), steps("[a-z]*[a-z]*0", 100) > 100**3
    (205, True)
    """
    branches = read(pattern)
    once = sum(_cost(branch, 1, (), length)[0] for branch in branches)
    anchored = all(branch and branch[0].anchor == "^" for branch in branches)
    return once + length if anchored else once * (length + 1)


def _cost(
    pieces: tuple[Piece, ...], after: int, following: tuple[Characters, ...], length: int
) -> tuple[int, tuple[Characters, ...]]:
    """Steps of these pieces and of what follows, and the characters that may come first."""
    for piece in reversed(pieces):
        if piece.anchor:
            after += 1
        elif piece.branches:
            found = [_cost(branch, after, following, length) for branch in piece.branches]
            after = sum(cost for cost, _ in found) + (0 if piece.least else after)
            first = tuple(one for _, begins in found for one in begins)
            following = first if piece.least else first + following
        else:
            assert piece.characters is not None
            choices = max(min(length if piece.most is None else piece.most, length) - piece.least, 0) + 1
            alone = not any(piece.characters.meets(other) for other in following)
            after = piece.least + (choices + after if alone else choices * (after + 1))
            following = (piece.characters,) if piece.least else (piece.characters, *following)
    return after, following
