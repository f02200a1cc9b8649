"""What all commands share: how their help is written, how groups are made, `--json`."""

from __future__ import annotations

from typing import Annotated

import typer

HELP = {"help_option_names": ["-h", "--help"]}


def help_of(about: str, example: str) -> str:
    """What a command does, and an example that works on the demo, in one line that can be copied."""
    return f"{about}\n\n\b\nExample: {example}"  # \b: this paragraph is not wrapped


def group(name: str, about: str, *, alone: bool) -> typer.Typer:
    """Commands under one word; `alone`: the word itself is one, too."""
    return typer.Typer(
        name=name,
        help=about,
        no_args_is_help=not alone,
        invoke_without_command=alone,
        add_completion=False,
        pretty_exceptions_enable=False,  # its tracebacks print local variables, and those may be rows
        rich_markup_mode=None,
        context_settings=HELP,
    )


Json = Annotated[bool, typer.Option("--json", help="One document on stdout, for programs.")]
