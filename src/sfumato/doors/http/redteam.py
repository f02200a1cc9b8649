"""The newest report of the red team on this policy, for owners and auditors.

Comes in: `redteam.json` of the policy's state folder, which `sfumato attack` keeps there. Goes out: the document, with
a picture of each attack. Nothing here attacks or asks anything; the report names people as the attacker knew them.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, PolicyError
from sfumato.gateway import Gateway
from sfumato.pictures import curves

_MOST = 16 << 20
_AT_ONCE = 5
"""Curves that can be told apart in one picture."""


def newest(gate: Gateway) -> dict[str, Any]:
    """The report, if there is one; and the command that makes one."""
    from sfumato.attacks.document import FILE, FORMAT  # not before somebody looks: the red team is large

    name = "sfumato.toml" if gate.policy.path is None else gate.policy.path.name
    command = f"sfumato attack all --target {shlex.quote(name)} --secret COLUMN"
    try:
        with (Path(gate.policy.data.state) / FILE).open("rb") as file:
            data = file.read(_MOST + 1)
    except FileNotFoundError:
        return {"command": command, "report": None, "pictures": {}}
    try:
        found = json.loads(data)
        if found["format"] != FORMAT:
            raise ValueError
        pictures = {attack["name"]: _pictures(attack["name"], found["reports"]) for attack in found["attacks"]}
    except (ValueError, KeyError, TypeError, InputError):
        raise PolicyError("the attack report cannot be read", hint=f"Make it anew: {command}.") from None
    return {"command": command, "report": found, "pictures": pictures}


def _pictures(attack: str, reports: list[dict[str, Any]]) -> list[str]:
    """How many secrets were found after how many questions, behind each defence; nothing where none ever was."""
    lines = [
        (str(one["defence"]), [(float(x), 100 * float(y)) for x, y in sorted(one["curve"])])
        for one in reports
        if one["attack"] == attack and len(one["curve"]) > 1
    ]
    return [
        curves(some, title=attack, axis="questions asked", measure="% of people recovered", bare=True)
        for some in (lines[i : i + _AT_ONCE] for i in range(0, len(lines), _AT_ONCE))
        if any(y for _, points in some for _, y in points)
    ]
