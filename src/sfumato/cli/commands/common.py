"""What all commands share: the style of their help, groups, and options that several of them take."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

HELP = {"help_option_names": ["-h", "--help"]}
HERE = Path("sfumato.toml")
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
PolicyFile = Annotated[Path, typer.Option("-p", "--policy", metavar="POLICY", help="The policy file.")]


def help_of(about: str, example: str) -> str:
    """What a command does, and an example that works on the demo, in one line that can be copied."""
    return f"{about}\n\n\b\nExample: {example}"  # \b: this paragraph is not wrapped


class PlainGroup(TyperGroup):
    """Commands whose help names an argument as other tools do: SQL, where Typer 0.29 writes {SQL} and SQL <str>."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name."""
        command = super().get_command(ctx, cmd_name)
        for argument in getattr(command, "params", ()):
            if argument.param_type_name == "argument" and argument.metavar and hasattr(argument, "display_type_rich"):
                usage = argument.metavar if argument.required else f"[{argument.metavar}]"
                _set(argument, "display_type_rich", "")
                _set(argument, "_usage_display_name", usage + ("..." if argument.nargs != 1 else ""))
        return command


class PositionCommand(TyperCommand):
    """A command with a position as an argument: one in the south begins with "-", and is not an option for that."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """A blank before such a position while arguments are told from options."""
        rest = super().parse_args(ctx, [f" {text}" if _SOUTHERN.match(text) else text for text in args])
        ctx.params = {name: _bare(value) for name, value in ctx.params.items()}
        return rest


_SOUTHERN = re.compile(r"-[0-9.]+\s*,")


def _bare(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_bare, value))
    return value.removeprefix(" ") if isinstance(value, str) and _SOUTHERN.match(value[1:]) else value


def _set(argument: Any, method: str, text: str) -> None:
    if hasattr(argument, method):
        setattr(argument, method, lambda *_, **__: text)


def group(
    name: str | None = None, about: str | None = None, *, alone: bool = False, completion: bool = False
) -> typer.Typer:
    """Commands under one word, or under none; `alone`: the word itself is one, too."""
    return typer.Typer(
        name=name,
        cls=PlainGroup,
        help=about,
        no_args_is_help=not alone,
        invoke_without_command=alone,
        add_completion=completion,  # --install-completion, --show-completion: bash, zsh, fish
        pretty_exceptions_enable=False,  # its tracebacks print local variables, and those may be rows
        rich_markup_mode=None,
        context_settings=HELP,
    )


def takes(shared: Mapping[str, tuple[Any, Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Options by name, each with its type and default: the command gets them as `**words`.

    They stand in the help before the options that the command itself names.
    """

    def give(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True)
        first = [one for one in own.parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
        last = [one for one in own.parameters.values() if one.kind is one.KEYWORD_ONLY]
        between = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (kind, default) in shared.items()
        ]
        command.__signature__ = own.replace(parameters=[*first, *between, *last])  # type: ignore[attr-defined]
        return command

    return give
