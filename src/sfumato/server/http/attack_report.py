"""The newest report of the attacks on this policy, for owners and auditors.

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

_MOST = 16 << 20


def newest(gate: Gateway) -> dict[str, Any]:
    """The report, if there is one; and the command that makes one."""
    from sfumato.attacks.document import FILE, FORMAT  # not before somebody looks: the red team is large
    from sfumato.attacks.page import drawings

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
        names = [attack["name"] for attack in found["attacks"]]
        pictures = {name: drawings(name, [one for one in found["reports"] if one["attack"] == name]) for name in names}
    except (ValueError, KeyError, TypeError, InputError):
        raise PolicyError("the attack report cannot be read", hint=f"Create a new one: {command}.") from None
    return {"command": command, "report": found, "pictures": pictures}
