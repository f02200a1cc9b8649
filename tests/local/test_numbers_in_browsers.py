"""Numbers have one grammar: the browser client takes what Python takes, and nothing else."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from sfumato.errors import InputError
from sfumato.local.numbers import DuchiBit
from sfumato.local.task import planned_task, read_task
from tests.end_to_end.test_local_answers import NO_NUMBERS, NUMBERS
from tests.needed import missing

CLIENT = Path(__file__).parents[2] / "clients" / "browser" / "local" / "sfumato-local.js"
OTHERS = [True, False, None, [], [5], {}, [[]], 5, -3.5, 1e308, 0]
SCRIPT = """
import { encode, parseTask } from CLIENT;
const task = parseTask(TASK), taken = [];
for (const value of VALUES) taken.push(await encode(task, value).then(() => true, () => false));
console.log(JSON.stringify(taken));
"""


def takes(task, value):
    try:
        task.inputs([value])
    except InputError:
        return False
    return True


def test_numbers_in_browsers_are_those_of_python(tmp_path):
    if shutil.which("node") is None:
        missing("there is no Node.js")
    text = planned_task("t", DuchiBit.planned(2), low=-5, high=10).to_toml()
    values = [*NUMBERS, *NO_NUMBERS, *OTHERS]
    parts = {"CLIENT": CLIENT.as_uri(), "TASK": text, "VALUES": values}
    script = SCRIPT
    for word, part in parts.items():
        script = script.replace(word, json.dumps(part), 1)
    (tmp_path / "run.mjs").write_text(script, encoding="utf-8")
    done = subprocess.run(["node", tmp_path / "run.mjs"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [takes(read_task(text), value) for value in values]
    assert sum(json.loads(done.stdout)) == len(NUMBERS) + 4


def test_no_task_has_a_name_that_browsers_refuse():
    with pytest.raises(InputError, match="constructor"):
        planned_task("constructor", DuchiBit.planned(2), low=0, high=1)
