"""What each function of text that tools write means, for the reference interpreter.

Comes in: a call and the values of its arguments. Goes out: its value. Patterns are read by Python's `re`, which goes
from left to right as RE2 does; `pattern_meaning` takes only those by which PostgreSQL means the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sfumato.algebra.pattern_meaning import groups, template
from sfumato.algebra.tree import Call


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern: a dot is any character, and $ is the end of the text."""
    return re.compile(re.sub(r"(\\.)|(\[\^?[^\]]*\])|\$", lambda m: m[1] or m[2] or r"\Z", pattern), re.DOTALL)


def _split_part(_: Call, text: str, delimiter: str, n: Any) -> str:
    parts, place = text.split(delimiter), int(n)
    at = place - 1 if place > 0 else len(parts) + place
    return parts[at] if 0 <= at < len(parts) else ""


def _initcap(_: Call, text: str) -> str:
    """Each word of letters and digits: the first in upper case, the others in lower case."""
    return re.sub(r"[^\W_]+", lambda word: word[0][0].upper() + word[0][1:].lower(), text)


def _pad(left: bool) -> Callable[[Call, str, Any, str], str]:
    def meaning(_: Call, text: str, width: Any, fill: str) -> str:
        missing = int(width) - len(text)
        if missing <= 0:
            return text[: int(width)]
        filled = (fill * (missing // len(fill) + 1))[:missing]
        return filled + text if left else text + filled

    return meaning


def _regexp_replace(call: Call, text: str, pattern: str, new: str) -> str:
    parts = template(new) or []

    def replaced(match: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else match[part] or "" for part in parts)

    return compiled(pattern).sub(replaced, text, count=0 if call.extra == "g" else 1)


def _regexp_substring(_: Call, text: str, pattern: str) -> str | None:
    match = compiled(pattern).search(text)
    return None if match is None else match[1 if groups(pattern) else 0]


def _json_string(_: Call, text: str) -> str:
    """In quotes; the five characters that are escaped, one by one."""
    signs = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(signs.get(sign, sign) for sign in text) + '"'


def concat_ws(values: list[Any]) -> str:
    """The texts that are not NULL, with the first between them."""
    return str(values[0]).join(value for value in values[1:] if value is not None)


TEXTS: dict[str, Callable[..., Any]] = {
    "split_part": _split_part,
    "lpad": _pad(left=True),
    "rpad": _pad(left=False),
    "regexp_replace": _regexp_replace,
    "regexp_substring": _regexp_substring,
    "json_string": _json_string,
}
"""Functions of text that are NULL where an argument is."""
ASCII_TEXTS: dict[str, Callable[..., Any]] = {"initcap": _initcap}
"""Those whose meaning is written for ASCII letters; of others engines may differ."""
