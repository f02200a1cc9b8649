"""What the tests of the command line share: what a command left behind, and a terminal to run it in."""

import os
import pty
import subprocess
from typing import NamedTuple

from tests.end_to_end.served import COMMAND


class Done(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


def in_terminal(words, cwd=None, typed="", **environment):
    """In a process of its own with a terminal for all streams: the exit code, and what appears there."""
    screen, end = pty.openpty()
    # TERM is set, and NO_COLOR is not, whatever this machine says
    around = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    around |= {"TERM": "xterm-256color", "COLUMNS": "200"} | environment
    os.write(screen, typed.encode())
    process = subprocess.Popen([*COMMAND, *map(str, words)], cwd=cwd, env=around, stdin=end, stdout=end, stderr=end)
    os.close(end)
    shown = b""
    try:
        while part := os.read(screen, 65536):
            shown += part
    except OSError:  # Linux says so when the last writer has gone
        pass
    os.close(screen)
    return process.wait(), shown.decode()
