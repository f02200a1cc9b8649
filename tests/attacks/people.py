"""Made-up people for the attacks: nobody is real, every number comes from SHA-256. Licence: as the project's."""

import csv
import hashlib

from sfumato.attacks.scene import set_scene
from sfumato.attacks.sheet import TABLE, read_sheet

QUASI = ("age", "weight", "sex", "zip")


def number(*words):
    return int.from_bytes(hashlib.sha256(repr(words).encode()).digest()[:6], "big")


def pick(values, *words):
    return values[number(*words) % len(values)]


def write_people(path, count, traits=0):
    """id, age, weight, sex, zip, traits that lean with the secret, and the secret: about every second is ill."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "age", "weight", "sex", "zip", *(f"t{j}" for j in range(traits)), "state"])
        for i in range(count):
            ill = number("ill", i) % 2
            rest = [pick("ab", "trait", i, j, number("lean", i, j) % 5 == 0 and ill) for j in range(traits)]
            line = [1000 + 3 * i, 18 + number("age", i) % 70, 45 + number("w", i) % 70, pick("MF", "sex", i)]
            writer.writerow([*line, f"0{2100 + number('zip', i) % 60}", *rest, "ill" if ill else "well"])
    return path


def scene_of(tmp_path, count):
    """The table, what the attacker knows, and the truth."""
    sheet = read_sheet(write_people(tmp_path / "people.csv", count))
    return sheet, *set_scene(sheet.records(), TABLE, "state", None)
