"""Patterns that are written in a question: which regular expressions are taken, SIMILAR TO, and LIKE with an escape.

Comes in: the text of a pattern. Goes out: why it is not taken, or the same pattern in the engine's words. A regular
expression is taken where PostgreSQL and the engine's RE2, which never goes back over a text, mean the same by it:
characters, `.`, lists such as [a-z0-9], groups, |, ^, $ and *, +, ?, {m,n}.
"""

from __future__ import annotations

import string

LONGEST = 200
_WIDEST = 1000
"""RE2 takes {m,n} apart into copies; more of them than this it refuses."""
_MOST = 255
"""PostgreSQL's largest number in {m,n}."""
_ESCAPED = set(string.punctuation) - {"_"}
_SPECIAL = set("\\.*+?|()[]{}^$")
_IN_LISTS = set(" _,.:;/@#%&'\"!<>=~+*?(){}|$`\t\n\v\f\r")
_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": " \t\n\v\f\r"}
"""What \\d, \\w and \\s stand for, of ASCII alone: engines differ about the letters and digits of other scripts."""


def spelled_out(pattern: str) -> str:
    r"""The pattern with \d, \w and \s, and \D, \W and \S outside of lists, written as lists of ASCII characters.

    >>> spelled_out(r"\d+[\w.]\D")
    '[0-9]+[A-Za-z0-9_.][^0-9]'
    """
    result, signs, listing = "", iter(pattern), False
    for sign in signs:
        if sign != "\\":
            listing = sign == "[" or (listing and sign != "]")
            result += sign
            continue
        following = next(signs, "")
        members = _CLASSES.get(following.lower(), "")
        if listing and members and following.islower():
            result += members
        elif members and not listing:
            result += f"[{'' if following.islower() else '^'}{members}]"
        else:
            result += sign + following
    return result


class _Other(Exception):
    """Not of the kind that is taken, and why."""


def problem(pattern: str) -> str | None:
    """Why this regular expression is not taken; None where it is."""
    if len(pattern) > LONGEST:
        return f"a regular expression may have at most {LONGEST} characters"
    try:
        reader = _Reader(pattern)
        reader.branches()
        if reader.at < len(pattern):
            raise _Other("a closing bracket has no opening one")
    except _Other as other:
        return str(other)
    return None


class _Reader:
    """One walk over a pattern; each method reads a part and gives the number of copies that RE2 makes of it."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self) -> str:
        self.at += 1
        return self.pattern[self.at - 1 : self.at]

    def branches(self) -> int:
        """Branches with | between them, each with at least one atom."""
        size = self.branch()
        while self.peek() == "|":
            self.take()
            size += self.branch()
        return size

    def branch(self) -> int:
        size = 0
        while self.peek() not in ("", "|", ")"):
            size += self.piece()
        if not size:
            raise _Other("there is nothing to match here: an empty branch, or an empty pattern")
        return size

    def piece(self) -> int:
        """An atom and at most one sign of repetition."""
        sign = self.take()
        if sign in ("^", "$"):
            self.no_repetition(f"{sign} cannot be repeated")
            return 1
        if sign in ("*", "+", "?", "{"):
            raise _Other(f"{sign} has nothing to repeat")
        size = self.atom(sign)
        times = 1
        if self.peek() in ("*", "+", "?"):
            self.take()
        elif self.peek() == "{":
            times = self.times()
        self.no_repetition("a quantifier follows another one")
        if size * times > _WIDEST:
            raise _Other(f"repeated more than {_WIDEST} times")
        return size * times

    def no_repetition(self, why: str) -> None:
        if self.peek() in ("*", "+", "?", "{"):
            raise _Other(why)

    def atom(self, sign: str) -> int:
        if sign == "(":
            if self.pattern.startswith("?:", self.at):
                self.at += 2
            size = self.branches()
            if self.take() != ")":
                raise _Other("a bracket is not closed")
            return size
        if sign == "[":
            self.listed()
        elif sign == "\\":
            if self.take() not in _ESCAPED:
                raise _Other("only punctuation, d, w and s may follow a backslash")
        elif sign != "." and (sign in _SPECIAL or not sign.isprintable()):
            raise _Other(f"{sign!r} is not supported here")
        return 1

    def times(self) -> int:
        """{m}, {m,} or {m,n}."""
        end = self.pattern.find("}", self.at)
        least, comma, most = self.pattern[self.at + 1 : max(end, 0)].partition(",")
        numbers = [least, most] if comma and most else [least]
        if end < 0 or not all(n.isascii() and n.isdigit() and len(n) <= 3 and int(n) <= _MOST for n in numbers):
            raise _Other(f"write {{m}}, {{m,}} or {{m,n}} with numbers up to {_MOST}")
        if int(numbers[-1]) < max(int(least), 1):
            raise _Other("{m,n} needs m to be at most n, and n at least 1")
        self.at = end + 1
        return int(numbers[-1]) + bool(comma and not most)

    def listed(self) -> None:
        """[abc], [a-z0-9], [^x]: letters, digits and signs; ranges of ASCII letters or digits."""
        if self.peek() == "^":
            self.take()
        members = 0
        while self.peek() not in ("]", ""):
            sign = self.take()
            if sign == "-":
                if members and self.peek() != "]":
                    raise _Other("in a list, - must be first, last, or between two letters or digits")
            elif not (sign.isalnum() or sign in _IN_LISTS):
                raise _Other(f"{sign!r} is not supported in a list")
            elif self.peek() == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.take()
                last = self.take()
                if not any(sign in kind and last in kind and sign <= last for kind in _RANGES):
                    raise _Other("a range goes from a letter to a later one, or from a digit to a larger one")
            members += 1
        if not members or self.take() != "]":
            raise _Other("a list is empty or not closed")


_RANGES = (string.ascii_lowercase, string.ascii_uppercase, string.digits)


def without_escape(pattern: str, sign: str) -> str | None:
    """A LIKE pattern with this sign of escape, rewritten with a backslash; None where it ends in a lone sign."""
    result, signs = "", iter(pattern)
    for character in signs:
        if sign and character == sign:
            following = next(signs, None)
            if following is None:
                return None
            result += "\\" + following
        else:
            result += "\\\\" if character == "\\" else character
    return result


def similar(pattern: str, sign: str = "\\") -> str | None:
    """A pattern of SIMILAR TO as a regular expression of the whole text; None where it ends in a lone sign of escape.

    % is any text and _ any character, | * + ? {} () [] mean what they do in a regular expression, and all else itself.

    >>> similar("%(show|ray)_")
    '^(?:.*(?:show|ray).)$'
    """
    result, signs, listing = "", iter(pattern), False
    for character in signs:
        if sign and character == sign:
            following = next(signs, None)
            if following is None:
                return None
            result += "\\" + following
        elif listing:
            listing = character != "]"
            result += "\\\\" if character == "\\" else character
        else:
            listing = character == "["
            result += _SIMILAR.get(character, character)
    return f"^(?:{result})$" if result else "^$"


_SIMILAR = {"%": ".*", "_": ".", "(": "(?:", ".": "\\.", "^": "\\^", "$": "\\$", "\\": "\\\\"}
