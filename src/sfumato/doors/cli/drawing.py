"""`sfumato design …`: the commands of the drawing board and their options, which are named as in Python.

What they do lies in design.py and is imported when one of them is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.doors.cli.shape import Json, group, help_of

design = group(
    "design",
    "The drawing board: sensitivities, channels, posteriors, utilities and the best mechanism, in exact numbers.\n\n"
    "Numbers are exact: 1/3 and 0.1 are what they say. Options may stand in a TOML file of the same words instead.",
    alone=False,
)

Low = Annotated[str | None, typer.Option("--low", metavar="N", help="The least value of a record.")]
High = Annotated[str | None, typer.Option("--high", metavar="N", help="The largest value of a record.")]
Least = Annotated[int | None, typer.Option("--min-size", metavar="N", help="There are at least N records.")]
Size = Annotated[int | None, typer.Option("--size", metavar="N", help="There are exactly N records.")]
Most = Annotated[int | None, typer.Option("--max-size", metavar="N", help="Look at databases of up to N records.")]
Adjacency = Annotated[
    str | None, typer.Option("--adjacency", metavar="WORD", help="add-remove, replace, or both (the default).")
]
Metrics = Annotated[
    str | None, typer.Option("--metrics", metavar="DX,DY", help="Of databases and of answers, instead of adjacency.")
]
Values = Annotated[str | None, typer.Option("--values", metavar="LIST", help="All values that a record can have.")]
Step = Annotated[str | None, typer.Option("--step", metavar="N", help="How far values, or outputs, are apart.")]
Percentile = Annotated[str | None, typer.Option("--percentile", metavar="P", help="The value of rank P n/100.")]
Where = Annotated[str | None, typer.Option("--where", metavar="COND", help="The property of a count: >10, <=3, =1.")]
Inputs = Annotated[str | None, typer.Option("--inputs", metavar="LIST", help="0..10, or a list, or grid 3x3.")]
Outputs = Annotated[str | None, typer.Option("--outputs", metavar="LIST", help="Where answers are brought into.")]
Epsilon = Annotated[str | None, typer.Option("--epsilon", metavar="E", help='0.5, or "ln 2".')]
Sensitive = Annotated[str | None, typer.Option("--sensitivity", metavar="N", help="Of the query (default 1).")]
Metric = Annotated[str | None, typer.Option("--metric", metavar="WORD", help="A word, or rows 0,1;1,0 of distances.")]
Matrix = Annotated[str | None, typer.Option("--table", metavar="ROWS", help="Probabilities, 3/4,1/4;1/4,3/4.")]
Prior = Annotated[str | None, typer.Option("--prior", metavar="P", help='uniform, "binomial 1/2", or a list.')]
Gain = Annotated[str | None, typer.Option("--gain", metavar="G", help="identity, distance, loss, or rows of numbers.")]
Answer = Annotated[str | None, typer.Option("--query", metavar="QUERY", help="Inputs are databases; noise its answer.")]
Beside = Annotated[str | None, typer.Option("--beside", metavar="OTHER", help="Another mechanism on the same input.")]
Then = Annotated[str | None, typer.Option("--then", metavar="ROWS", help="What is done to the output: probabilities.")]
Plot = Annotated[bool, typer.Option("--plot", help="Draw it in the terminal.")]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw it into an SVG file.")]
Query = Annotated[str, typer.Argument(metavar="QUERY", help="A name, FILE.py:FUNCTION, or a problem FILE.toml.")]
Mechanism = Annotated[
    str | None, typer.Argument(metavar="MECHANISM", help="A name, or a problem FILE.toml; none with --table.")
]


@design.command(
    "sensitivity",
    help=help_of(
        "How far one person moves the answer of a query.\n\n"
        "QUERY is count, sum, average, percentage, percentile, median, max or min, in closed form; or a Python "
        "function of a tuple of records, tried on every database of the sizes and values that are named.",
        "sfumato design sensitivity average --low 0 --high 120 --min-size 100",
    ),
)
def _sensitivity(
    query: Query,
    *,
    low: Low = None,
    high: High = None,
    min_size: Least = None,
    size: Size = None,
    max_size: Most = None,
    adjacency: Adjacency = None,
    metrics: Metrics = None,
    values: Values = None,
    step: Step = None,
    percentile: Percentile = None,
    where: Where = None,
    json: Json = False,
) -> None:
    from sfumato.doors.cli.design import run_sensitivity

    words = {"low": low, "high": high, "min_size": min_size, "size": size, "max_size": max_size}
    words |= {"adjacency": adjacency, "metrics": metrics, "values": values, "step": step}
    run_sensitivity(query, {**words, "percentile": percentile, "where": where}, as_json=json)


@design.command(
    "channel",
    help=help_of(
        "The matrix of a mechanism, its exact epsilon, and the pair of inputs that needs it.\n\n"
        "MECHANISM is geometric, truncated-geometric, randomized-response, exponential, tight-constraints, laplace or "
        "truncated-laplace (densities at --at, atoms at the ends).",
        'sfumato design channel truncated-geometric --inputs 0..4 --epsilon "ln 2" --metric manhattan',
    ),
)
def _channel(
    mechanism: Mechanism = None,
    *,
    table: Matrix = None,
    inputs: Inputs = None,
    outputs: Outputs = None,
    epsilon: Epsilon = None,
    sensitivity: Sensitive = None,
    step: Step = None,
    metric: Metric = None,
    low: Low = None,
    high: High = None,
    query: Answer = None,
    beside: Beside = None,
    then: Then = None,
    at: Annotated[str | None, typer.Option("--at", metavar="LIST", help="Where densities are wanted.")] = None,
    row: Annotated[str | None, typer.Option("--row", metavar="INPUT", help="One row only.")] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="The epsilon of every pair of inputs.")] = False,
    refines: Annotated[
        str | None,
        typer.Option("--refines", metavar="OTHER", help="Is this other mechanism a post-processing of it?"),
    ] = None,
    plot: Plot = False,
    svg: Svg = None,
    json: Json = False,
) -> None:
    from sfumato.doors.cli.board import Drawn
    from sfumato.doors.cli.design import run_channel

    words = {"table": table, "inputs": inputs, "outputs": outputs, "epsilon": epsilon, "sensitivity": sensitivity}
    words |= {"step": step, "metric": metric, "low": low, "high": high, "at": at, "row": row, "refines": refines}
    words |= {"query": query, "beside": beside, "then": then}
    run_channel(mechanism, words, every_pair=pairs, drawn=Drawn(plot, svg), as_json=json)


@design.command(
    "posterior",
    help=help_of(
        "What is believed after answers were seen, beside what epsilon allows.\n\n"
        "A problem file may describe people and the answers about them: then it says who has the secret.",
        "sfumato design posterior randomized-response --inputs ill,well --epsilon 1 --prior 1/10,9/10 --seen ill,ill",
    ),
)
def _posterior(
    mechanism: Mechanism = None,
    *,
    seen: Annotated[str | None, typer.Option("--seen", metavar="LIST", help="What came out, once or more.")] = None,
    prior: Prior = None,
    table: Matrix = None,
    inputs: Inputs = None,
    outputs: Outputs = None,
    epsilon: Epsilon = None,
    sensitivity: Sensitive = None,
    step: Step = None,
    metric: Metric = None,
    plot: Plot = False,
    svg: Svg = None,
    json: Json = False,
) -> None:
    from sfumato.doors.cli.believing import run_posterior
    from sfumato.doors.cli.board import Drawn

    words = {"table": table, "inputs": inputs, "outputs": outputs, "epsilon": epsilon, "sensitivity": sensitivity}
    words |= {"step": step, "metric": metric, "seen": seen, "prior": prior}
    run_posterior(mechanism, words, drawn=Drawn(plot, svg), as_json=json)


@design.command(
    "utility",
    help=help_of(
        "What an answer is worth with the best remapping, and how much it adds to what was known.\n\n"
        "--compare sets other mechanisms beside it, at the same epsilon; --plot draws the curve over epsilon.",
        "sfumato design utility truncated-geometric --inputs 0..10 --epsilon 1 --gain distance",
    ),
)
def _utility(
    mechanism: Mechanism = None,
    *,
    prior: Prior = None,
    gain: Gain = None,
    table: Matrix = None,
    inputs: Inputs = None,
    outputs: Outputs = None,
    epsilon: Epsilon = None,
    sensitivity: Sensitive = None,
    step: Step = None,
    metric: Metric = None,
    then: Then = None,
    compare: Annotated[str | None, typer.Option("--compare", metavar="LIST", help="Other mechanisms.")] = None,
    plot: Plot = False,
    svg: Svg = None,
    json: Json = False,
) -> None:
    from sfumato.doors.cli.board import Drawn
    from sfumato.doors.cli.weighing import run_utility

    words = {"table": table, "inputs": inputs, "outputs": outputs, "epsilon": epsilon, "sensitivity": sensitivity}
    words |= {"step": step, "metric": metric, "prior": prior, "gain": gain, "then": then, "compare": compare}
    run_utility(mechanism, words, drawn=Drawn(plot, svg), as_json=json)


@design.command(
    "distance",
    help=help_of(
        "How far two laws, or two databases, are apart.\n\n"
        "Laws are written a=1/2,b=1/2: statistical, skewed and pure distance. Databases are lists of records: L1 of "
        "histograms, Hamming, Manhattan, and normalised Manhattan where --low and --high say the range of a value.",
        'sfumato design distance "no=3/4,yes=1/4" "no=1/4,yes=3/4" --epsilon "ln 2"',
    ),
)
def _distance(
    first: Annotated[str, typer.Argument(metavar="ONE", help="A law, a database, or a problem FILE.toml.")],
    second: Annotated[str | None, typer.Argument(metavar="TWO", help="The other one.")] = None,
    *,
    epsilon: Epsilon = None,
    low: Low = None,
    high: High = None,
    json: Json = False,
) -> None:
    from sfumato.doors.cli.apart import run_distance

    run_distance(first, second, {"epsilon": epsilon, "low": low, "high": high}, as_json=json)


@design.command(
    "optimal",
    help=help_of(
        "The best mechanism for a prior, a gain, an epsilon and a metric, with a proof that it is private.\n\n"
        "A linear program finds it; then it is made private in whole numbers and checked, and what it is worth is "
        "shown beside what nothing with this epsilon can exceed.",
        "sfumato design optimal --inputs 0..5 --epsilon 1 --metric manhattan --gain distance",
    ),
)
def _optimal(
    problem: Annotated[str | None, typer.Argument(metavar="FILE", help="A problem FILE.toml, or none.")] = None,
    *,
    inputs: Inputs = None,
    epsilon: Epsilon = None,
    metric: Metric = None,
    prior: Prior = None,
    gain: Gain = None,
    plot: Plot = False,
    svg: Svg = None,
    json: Json = False,
) -> None:
    from sfumato.doors.cli.best import run_optimal
    from sfumato.doors.cli.board import Drawn

    words = {"inputs": inputs, "epsilon": epsilon, "metric": metric, "prior": prior, "gain": gain}
    run_optimal(problem, words, drawn=Drawn(plot, svg), as_json=json)


@design.command(
    "universal",
    help=help_of(
        "Whether geometric noise is best for everybody: the graph of a query's answers, and a linear program.\n\n"
        "QUERY is one of sensitivity's, over a finite domain. Users are four pairs of prior and gain, unless --prior "
        "or --gain names one.",
        "sfumato design universal count --size 4",
    ),
)
def _universal(
    query: Query,
    *,
    low: Low = None,
    high: High = None,
    min_size: Least = None,
    size: Size = None,
    max_size: Most = None,
    adjacency: Adjacency = None,
    metrics: Metrics = None,
    values: Values = None,
    step: Step = None,
    percentile: Percentile = None,
    where: Where = None,
    epsilon: Epsilon = None,
    prior: Prior = None,
    gain: Gain = None,
    json: Json = False,
) -> None:
    from sfumato.doors.cli.best import run_universal

    words = {"low": low, "high": high, "min_size": min_size, "size": size, "max_size": max_size}
    words |= {"adjacency": adjacency, "metrics": metrics, "values": values, "step": step, "percentile": percentile}
    run_universal(query, {**words, "where": where, "epsilon": epsilon, "prior": prior, "gain": gain}, as_json=json)
