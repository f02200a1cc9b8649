"""`sfumato geo …`: commands for location privacy and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.commands.common import Json, PositionCommand, group, help_of

geo = group(
    "geo",
    "Location privacy: noisy positions.\n\n"
    '"Level l within r metres": a report changes the odds between two true positions at most r metres apart by at most '
    "e^l; farther ones in proportion.",
)

Level = Annotated[str, typer.Option("--level", metavar="L", help='The level, a number or "ln 4".')]
Radius = Annotated[str, typer.Option("--radius", metavar="METRES", help="The radius in metres.")]
Step = Annotated[str | None, typer.Option("--grid", metavar="METRES", help="Grid step; default: radius/200 or less.")]
Centre = Annotated[
    str | None,
    typer.Option(
        "--around", metavar="LAT,LON", help="A public place near all points; needs less noise than a worldwide grid."
    ),
]
Reach = Annotated[
    str | None,
    typer.Option("--reach", metavar="METRES", help="With --around: how far points may be from it (default: 500000)."),
]
GridCells = Annotated[str, typer.Option("--grid", metavar="COLSxROWS", help="The cells, for example 9x9.")]
PriorFile = Annotated[
    Path | None,
    typer.Option("--prior", metavar="FILE", help="Weights of the cells, or a file of points to count by cell."),
]
Lat = Annotated[str | None, typer.Option("--lat", metavar="COLUMN", help="The column of latitudes.")]
Lon = Annotated[str | None, typer.Option("--lon", metavar="COLUMN", help="The column of longitudes.")]


@geo.command(
    "obfuscate",
    cls=PositionCommand,
    help=help_of(
        "Replace positions by noisy reports.\n\n"
        "IN is a .csv, .geojson, .gpx or .parquet file, or a position LAT,LON. Other columns are dropped unless they "
        "are named by --keep: times, altitudes and speeds also reveal where somebody was. Without --around the grid is "
        "worldwide and reports are 18 % farther away. Columns whose names leave doubt (x, y, gps_lat) need --lat and "
        "--lon, or a confirmation on the terminal or by --yes. With --budget each person's positions are a trace: the "
        "last report is repeated while a private test finds it near, and held once the budget is spent. One position "
        "with --budget and --ledger is the next of a trace; once the budget is spent it is refused.",
        'sfumato geo obfuscate 48.8584,2.2945 --level "ln 4" --radius 200',
    ),
)
def _obfuscate(
    source: Annotated[str, typer.Argument(metavar="IN", help="A file of points, or LAT,LON.")],
    *,
    level: Level,
    radius: Radius,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="OUT", help="The file to write.")] = None,
    lat: Lat = None,
    lon: Lon = None,
    grid: Step = None,
    around: Centre = None,
    reach: Reach = None,
    zone: Annotated[
        list[str] | None,
        typer.Option("--zone", metavar="LAT,LON,METRES", help="Positions inside are treated as one; may be repeated."),
    ] = None,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="A,B", help="Other columns to keep; all keeps every one.")
    ] = None,
    others: Annotated[
        str | None,
        typer.Option("--others", metavar="WORD", help="What to do with other columns: drop (default) or refuse."),
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="L", help="A level for all reports of one person together.")
    ] = None,
    person: Annotated[
        str | None,
        typer.Option("--person", metavar="COLUMN", help="Column that identifies the person; default: one person."),
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", metavar="FILE", help="A ledger that keeps budgets between runs.")
    ] = None,
    test: Annotated[
        str | None, typer.Option("--test", metavar="L", help="The level of one test; default: a quarter of --level.")
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            "--threshold",
            metavar="METRES",
            help="How far off the last report may be to be repeated; default: 95 % of reports are nearer, plus twice "
            "the scale of the test's noise.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether guessed columns are right.")] = False,
    json: Json = False,
) -> None:
    from sfumato.cli.geo_obfuscate import ObfuscateOptions, TraceOptions, run

    order = ObfuscateOptions(source, out, level, radius, lat, lon, grid, around, reach, tuple(zone or ()), keep, others)
    run(order, TraceOptions(budget, person, ledger, test, threshold), yes=yes, as_json=json)


@geo.command(
    "budget",
    help=help_of(
        "Show what each person has spent.\n\n"
        "LEDGER is the file that --ledger of geo obfuscate named. Its chain is verified first.",
        "sfumato geo budget positions.ledger",
    ),
)
def _budget(
    ledger: Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger of positions.")], *, json: Json = False
) -> None:
    from sfumato.cli.geo_obfuscate import run_budget

    run_budget(ledger, as_json=json)


@geo.command(
    "place",
    cls=PositionCommand,
    help=help_of(
        "Save a place and print its report.\n\n"
        "With --level and --radius noise is drawn once and kept, and the place itself is not stored: fresh noise each "
        "time could be averaged away. Without NAME, list the saved places.",
        'sfumato geo place home 48.8584,2.2945 --level "ln 4" --radius 200 --file my-places.json',
    ),
)
def _place(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The name of a place.")] = None,
    at: Annotated[str | None, typer.Argument(metavar="LAT,LON", help="Save this place under the name.")] = None,
    *,
    file: Annotated[Path, typer.Option("--file", metavar="FILE", help="Where places are kept.")] = Path("places.json"),
    level: Annotated[str | None, typer.Option("--level", metavar="L", help='The level, a number or "ln 4".')] = None,
    radius: Annotated[str | None, typer.Option("--radius", metavar="METRES", help="The radius in metres.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Delete the place.")] = False,
    json: Json = False,
) -> None:
    from sfumato.cli.geo_places import run_place

    run_place(name, at, file, level=level, radius=radius, remove=remove, as_json=json)


@geo.command(
    "retrieve",
    help=help_of(
        "Radius to request from a service around a report.\n\n"
        "The radius depends on level and confidence alone, never on the report. With --places and --users, it "
        "is evaluated on files: recall and bandwidth.",
        'sfumato geo retrieve --interest 300 --level "ln 4" --radius 200 --confidence 0.95',
    ),
)
def _retrieve(
    *,
    interest: Annotated[str, typer.Option("--interest", metavar="METRES", help="The radius of interest.")],
    level: Level,
    radius: Radius,
    confidence: Annotated[
        str, typer.Option("--confidence", metavar="P", help="Probability that all are retrieved.")
    ] = "0.95",
    grid: Step = None,
    around: Centre = None,
    reach: Reach = None,
    places: Annotated[
        Path | None, typer.Option("--places", metavar="FILE", help="A file of places that a service knows.")
    ] = None,
    users: Annotated[Path | None, typer.Option("--users", metavar="FILE", help="A file of true positions.")] = None,
    lat: Lat = None,
    lon: Lon = None,
    most: Annotated[int, typer.Option("--most", metavar="N", help="Use at most N users.")] = 1000,
    json: Json = False,
) -> None:
    from sfumato.cli.geo_study import Service, run_retrieve

    service = Service(interest, level, radius, confidence, grid, around, reach, places, users, most, lat, lon)
    run_retrieve(service, as_json=json)


@geo.command(
    "attack",
    help=help_of(
        "Attack the digits of noisy reports.\n\n"
        "Without files, attacks this mechanism, and for comparison noise whose radius is rounded to six decimals. "
        "--reports and --users attack the output of any tool: two files with matching rows. Exit code 1 if "
        "positions were identified.",
        'sfumato geo attack --level "ln 4" --radius 200 --trials 100',
    ),
)
def _attack(
    *,
    level: Level,
    radius: Radius,
    trials: Annotated[int, typer.Option("--trials", metavar="N", help="Number of reports.")] = 200,
    reports: Annotated[Path | None, typer.Option("--reports", metavar="FILE", help="Reports of another tool.")] = None,
    users: Annotated[Path | None, typer.Option("--users", metavar="FILE", help="Their true positions.")] = None,
    lat: Lat = None,
    lon: Lon = None,
    json: Json = False,
) -> None:
    from sfumato.cli.geo_attack import run_attack

    run_attack(level, radius, trials, reports, users, names=(lat, lon), as_json=json)


@geo.command(
    "evaluate",
    help=help_of(
        "Compare mechanisms of equal loss on a grid.\n\n"
        "Cloaking, dummies, planar noise, the optima for the uniform prior and for the adversary's prior, and the "
        "geo-indistinguishable optimum; the expected error of the adversary and the Bayes error. Epsilons are per cell "
        "and certified.",
        "sfumato geo evaluate --grid 4x4 --side 2",
    ),
)
def _evaluate(
    *,
    grid: GridCells = "9x9",
    side: Annotated[int, typer.Option("--side", metavar="N", help="Cloaking has zones of N times N cells.")] = 3,
    prior: PriorFile = None,
    lat: Lat = None,
    lon: Lon = None,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw it into an SVG file.")] = None,
    json: Json = False,
) -> None:
    from sfumato.cli.geo_study import run_evaluate

    run_evaluate(grid, side, prior, (lat, lon), svg=svg, as_json=json)


@geo.command(
    "optimal",
    help=help_of(
        "Find the optimal mechanism on a grid. It has the least expected distance at an epsilon per cell.",
        "sfumato geo optimal --grid 4x4 --epsilon 1",
    ),
)
def _optimal(
    *,
    grid: GridCells = "9x9",
    epsilon: Annotated[str, typer.Option("--epsilon", metavar="E", help='Per cell: a number or "ln 2".')],
    prior: PriorFile = None,
    lat: Lat = None,
    lon: Lon = None,
    json: Json = False,
) -> None:
    from sfumato.cli.geo_study import run_optimal

    run_optimal(grid, epsilon, prior, (lat, lon), as_json=json)
