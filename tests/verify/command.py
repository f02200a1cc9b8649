"""`sfumato verify` in this process, as the console script runs it: exit code, stdout, stderr."""

import contextlib
import io
import sys

from sfumato.cli import main


def command(*words):
    """Run the command; whatever is raised beside an exit is not caught."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["sfumato", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    return code, out.getvalue(), err.getvalue()
