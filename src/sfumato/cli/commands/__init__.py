"""What can be typed: every command with its help and its options, one file per group.

These files are imported whenever `sfumato` starts, so they import nothing heavy: what a command does lies in a file of
its own beside this folder, which is imported when the command is called.
"""

from sfumato.cli.commands import anonymize, checking, design, geo, learn, ledger, local, owner, query, serve

__all__ = ["anonymize", "checking", "design", "geo", "learn", "ledger", "local", "owner", "query", "serve"]
