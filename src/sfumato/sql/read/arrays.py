"""Arrays as PostgreSQL writes them in text: '{1,2,NULL,"a b"}'.

Comes in: a text. Goes out: the texts of its elements, None for NULL; or None where it is no array of one dimension.
"""

from __future__ import annotations


def written_array(text: str) -> list[str | None] | None:
    r"""The elements of an array literal.

    >>> written_array('{a,"b, c",NULL,"NULL","x\\"y"}')
    ['a', 'b, c', None, 'NULL', 'x"y']
    >>> written_array("{}")
    []
    >>> written_array("{{1},{2}}") is None
    True
    """
    body = text.strip()
    if not (body.startswith("{") and body.endswith("}")):
        return None
    body, found, at = body[1:-1], list[str | None](), 0
    if not body.strip():
        return found
    while True:
        element = _element(body, at)
        if element is None:
            return None
        value, at = element
        found.append(value)
        if at == len(body):
            return found
        at += 1  # a comma


def written_signs(text: str) -> int:
    """How many words and signs a text would be as an array: at least as many as its elements and commas; 0 for what is
    no array.

    >>> written_signs("{1,2,3}"), written_signs("a,b")
    (5, 0)
    """
    body = text.strip()
    return 2 * body.count(",") + 1 if body.startswith("{") and body.endswith("}") else 0


def _element(body: str, at: int) -> tuple[str | None, int] | None:  # noqa: C901  one loop over characters
    """One element and the place after it: a comma, or the end."""
    while body[at : at + 1].isspace():
        at += 1
    quoted, value = body[at : at + 1] == '"', ""
    at += quoted
    while at < len(body):
        sign = body[at]
        if sign == "\\" and at + 1 < len(body):
            value, at = value + body[at + 1], at + 2
            continue
        if quoted and sign == '"':
            break
        if not quoted and sign == ",":
            break
        if not quoted and sign in '{}"':
            return None
        value, at = value + sign, at + 1
    if quoted:
        if body[at : at + 1] != '"':
            return None
        at += 1
        while body[at : at + 1].isspace():
            at += 1
        return (value, at) if at == len(body) or body[at] == "," else None
    value = value.strip()
    if not value:
        return None
    return (None if value.upper() == "NULL" else value), at
