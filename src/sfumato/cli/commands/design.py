"""`sfumato design …`: the design commands and their options, named as in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.commands.common import Json, group, help_of, takes

design = group(
    "design",
    "Design mechanisms with exact numbers.\n\n"
    "Sensitivities, channels, posteriors, utilities and the optimal mechanism. Numbers such as 1/3 and 0.1 are exact. "
    "Options can also be given in a TOML file.",
)

_WORDS = {
    "low": ("N", "Smallest value of a record."),
    "high": ("N", "Largest value of a record."),
    "min_size": ("N", "There are at least N records."),
    "size": ("N", "There are exactly N records."),
    "max_size": ("N", "Try databases of up to N records."),
    "adjacency": ("WORD", "add-remove, replace, or both (the default)."),
    "metrics": ("DX,DY", "Metrics on databases and answers, not adjacency."),
    "values": ("LIST", "All values that a record can have."),
    "step": ("N", "Distance between adjacent values or outputs."),
    "percentile": ("P", "The value of rank P n/100."),
    "where": ("COND", "Condition of a count: >10, <=3, =1."),
    "inputs": ("LIST", "Inputs: 0..10, a list, or grid 3x3."),
    "outputs": ("LIST", "Outputs are clamped to this range."),
    "epsilon": ("E", '0.5, or "ln 2".'),
    "sensitivity": ("N", "Sensitivity of the query (default 1)."),
    "metric": ("WORD", "manhattan, …, or a matrix: 0,1;1,0."),
    "table": ("ROWS", "Channel matrix: 3/4,1/4;1/4,3/4."),
    "prior": ("P", 'uniform, "binomial 1/2", or a list.'),
    "gain": ("G", "identity, distance, loss, or rows of numbers."),
    "query": ("QUERY", "Add noise to this query of databases."),
    "beside": ("OTHER", "Another mechanism on the same input."),
    "then": ("ROWS", "Post-processing, as a channel matrix."),
    "at": ("LIST", "Points at which to show densities."),
    "row": ("INPUT", "Show the row of this input only."),
    "refines": ("OTHER", "Is this other mechanism a post-processing of it?"),
    "seen": ("LIST", "The outputs that were observed."),
    "compare": ("LIST", "Mechanisms to compare with."),
}
"""What may be told, with the words of its help: texts, but for sizes."""
_SIZES = ("min_size", "size", "max_size")
_DOMAIN = "low high min_size size max_size adjacency metrics values step percentile where"
"""Of which databases a query is asked."""
_CHANNEL = "table inputs outputs epsilon sensitivity step metric"
"""What a mechanism is made of."""


def _words(names: str) -> dict[str, tuple[Any, None]]:
    """Options of these names, all of which may be left out."""
    made = {}
    for name in names.split():
        metavar, about = _WORDS[name]
        kind = int | None if name in _SIZES else str | None
        made[name] = (Annotated[kind, typer.Option(f"--{name.replace('_', '-')}", metavar=metavar, help=about)], None)
    return made


Plot = Annotated[bool, typer.Option("--plot", help="Draw it in the terminal.")]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw it into an SVG file.")]
Query = Annotated[str, typer.Argument(metavar="QUERY", help="A name, FILE.py:FUNCTION, or a problem FILE.toml.")]
Mechanism = Annotated[
    str | None, typer.Argument(metavar="MECHANISM", help="A name, or a problem FILE.toml; none with --table.")
]


@design.command(
    "sensitivity",
    help=help_of(
        "Sensitivity: how much one person changes a query.\n\n"
        "QUERY is count, sum, average, percentage, percentile, median, max or min, in closed form; or a Python "
        "function of a tuple of records, evaluated on every database of the given sizes and values.",
        "sfumato design sensitivity average --low 0 --high 120 --min-size 100",
    ),
)
@takes(_words(_DOMAIN))
def _sensitivity(query: Query, *, json: Json = False, **words: Any) -> None:
    from sfumato.cli.design import run_sensitivity

    run_sensitivity(query, words, as_json=json)


@design.command(
    "channel",
    help=help_of(
        "Channel matrix of a mechanism and its epsilon.\n\n"
        "MECHANISM is geometric, truncated-geometric, randomized-response, exponential, tight-constraints, laplace or "
        "truncated-laplace (densities at --at, atoms at the ends).",
        'sfumato design channel truncated-geometric --inputs 0..4 --epsilon "ln 2" --metric manhattan',
    ),
)
@takes(_words(f"{_CHANNEL} low high query beside then at row refines"))
def _channel(
    mechanism: Mechanism = None,
    *,
    pairs: Annotated[bool, typer.Option("--pairs", help="The epsilon of every pair of inputs.")] = False,
    plot: Plot = False,
    svg: Svg = None,
    json: Json = False,
    **words: Any,
) -> None:
    from sfumato.cli.design import run_channel
    from sfumato.cli.design_common import PlotTarget

    run_channel(mechanism, words, every_pair=pairs, drawn=PlotTarget(plot, svg, mechanism), as_json=json)


@design.command(
    "posterior",
    help=help_of(
        "Beliefs after answers, and what epsilon allows.\n\n"
        "A problem file can describe people and the answers about them; the result is who has the secret.",
        "sfumato design posterior randomized-response --inputs ill,well --epsilon 1 --prior 1/10,9/10 --seen ill,ill",
    ),
)
@takes(_words(f"seen prior {_CHANNEL}"))
def _posterior(
    mechanism: Mechanism = None, *, plot: Plot = False, svg: Svg = None, json: Json = False, **words: Any
) -> None:
    from sfumato.cli.design_common import PlotTarget
    from sfumato.cli.design_posterior import run_posterior

    run_posterior(mechanism, words, drawn=PlotTarget(plot, svg, mechanism), as_json=json)


@design.command(
    "utility",
    help=help_of(
        "Utility of an answer with the best remapping.\n\n"
        "--compare adds other mechanisms at the same epsilon; --plot draws the curve over epsilon.",
        "sfumato design utility truncated-geometric --inputs 0..10 --epsilon 1 --gain distance",
    ),
)
@takes(_words(f"prior gain {_CHANNEL} then compare"))
def _utility(
    mechanism: Mechanism = None, *, plot: Plot = False, svg: Svg = None, json: Json = False, **words: Any
) -> None:
    from sfumato.cli.design_common import PlotTarget
    from sfumato.cli.design_utility import run_utility

    run_utility(mechanism, words, drawn=PlotTarget(plot, svg, mechanism), as_json=json)


@design.command(
    "distance",
    help=help_of(
        "Distance of two distributions or databases.\n\n"
        "For distributions (a=1/2,b=1/2): statistical, skewed and pure distance. For databases (lists of records): L1 "
        "of histograms, Hamming, Manhattan, and normalised Manhattan if --low and --high give the range of a value.",
        'sfumato design distance "no=3/4,yes=1/4" "no=1/4,yes=3/4" --epsilon "ln 2"',
    ),
)
@takes(_words("epsilon low high"))
def _distance(
    first: Annotated[str, typer.Argument(metavar="ONE", help="A distribution, a database, or a problem FILE.toml.")],
    second: Annotated[str | None, typer.Argument(metavar="TWO", help="The other one.")] = None,
    *,
    json: Json = False,
    **words: Any,
) -> None:
    from sfumato.cli.design_distance import run_distance

    run_distance(first, second, words, as_json=json)


@design.command(
    "optimal",
    help=help_of(
        "Find the optimal mechanism for a prior and a gain.\n\n"
        "A linear program finds it. It is then rounded so that it is exactly private, and its utility is shown beside "
        "an upper bound for any mechanism with this epsilon.",
        "sfumato design optimal --inputs 0..5 --epsilon 1 --metric manhattan --gain distance",
    ),
)
@takes(_words("inputs epsilon metric prior gain"))
def _optimal(
    problem: Annotated[str | None, typer.Argument(metavar="FILE", help="A problem FILE.toml.")] = None,
    *,
    plot: Plot = False,
    svg: Svg = None,
    json: Json = False,
    **words: Any,
) -> None:
    from sfumato.cli.design_common import PlotTarget
    from sfumato.cli.design_optimal import run_optimal

    run_optimal(problem, words, drawn=PlotTarget(plot, svg, problem), as_json=json)


@design.command(
    "universal",
    help=help_of(
        "Is geometric noise universally optimal here?\n\n"
        "QUERY is as for `design sensitivity`, over a finite domain. Tried for four pairs of prior and gain, unless "
        "--prior or --gain names one.",
        "sfumato design universal count --size 4",
    ),
)
@takes(_words(f"{_DOMAIN} epsilon prior gain"))
def _universal(query: Query, *, json: Json = False, **words: Any) -> None:
    from sfumato.cli.design_optimal import run_universal

    run_universal(query, words, as_json=json)
