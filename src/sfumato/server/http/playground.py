"""The playground: one idea per page, computed with the product's own functions. No data set, nothing is spent.

Comes in: a page's name and its few numbers. Goes out: what the page draws and tells: a picture, rows of numbers, and
the lines of Python that give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting import Pure, advanced, belief, epsilon_of_rho, optimal, parallel, price, sequential
from sfumato.errors import InputError
from sfumato.mechanisms import Gaussian, Geometric, Laplace, RandomizedResponse
from sfumato.pictures import curves, neighbours
from sfumato.server.http import playground_grid, playground_utility
from sfumato.server.http.distribution_plots import HALF, two_laws
from sfumato.server.http.request_bodies import WRITTEN
from sfumato.types import as_written, show, whole

_MOST_POINTS = 24


@dataclass(frozen=True, slots=True)
class PlayPage:
    """A page: its numbers with their limits and defaults, its choices with the first as the default, what draws it.

    A number whose upper limit is the name of another one before it is at most that one.
    """

    numbers: Mapping[str, tuple[str, str, str]]
    draw: Callable[..., dict[str, Any]]
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def _law(epsilon: Fraction, sensitivity: Fraction) -> dict[str, Any]:
    steps = whole(int(sensitivity), "sensitivity", 1)
    found = two_laws(Geometric(Fraction(steps), epsilon), Fraction(1), "Geometric noise: Bob in, Bob out")
    code = f"Geometric({steps}, Fraction({str(epsilon)!r})).mass(0)"
    return _page(found["svg"], _odds_rows(epsilon), f"from sfumato.mechanisms import Geometric\n{code}")


def _laplace(epsilon: Fraction, grid: Fraction) -> dict[str, Any]:
    """On a grid: what is drawn in floats has another law than the one on paper."""
    noise = Laplace(Fraction(1), epsilon, grid)
    found = two_laws(noise.on_grid, grid, f"Laplace noise on multiples of {show(grid)}")
    code = f"Laplace(1, Fraction({str(epsilon)!r}), Fraction({str(grid)!r})).interval()"
    rows = [["± at 95 %", show(noise.interval()[1])], ["scale", show(noise.scale)]]
    return _page(found["svg"], [*rows, *_odds_rows(epsilon)], f"from sfumato.mechanisms import Laplace\n{code}")


def _gaussian(rho: Fraction) -> dict[str, Any]:
    noise = Gaussian(Fraction(1), rho)
    found = two_laws(noise, Fraction(1), "Gaussian noise: Bob in, Bob out")
    delta = Fraction(1, 10**6)
    rows = [
        ["± at 95 %", str(noise.interval()[1])],
        ["epsilon of one number at delta 1e-6", _short(noise.epsilon(delta))],
    ]
    code = f"Gaussian(1, Fraction({str(rho)!r})).epsilon(Fraction(1, 10**6))"
    return _page(found["svg"], rows, f"from sfumato.mechanisms import Gaussian\n{code}")


def _odds_rows(epsilon: Fraction, suspected: str = "Bob is in the data") -> list[list[str]]:
    priors = (Fraction(1, 100), Fraction(1, 10), HALF)
    return [
        [f"a {show(p * 100)} % suspicion that {suspected} becomes at most", f"{_up(belief(p, epsilon) * 100)} %"]
        for p in priors
    ]


def _up(number: Fraction) -> str:
    """A number above 0, to three digits and not below what it is."""
    step = Fraction(10) ** (len(str(int(number))) - 3)
    return show(-(-number // step) * step)


def _averaging(epsilon: Fraction, k: Fraction) -> dict[str, Any]:
    """What fresh noise would give away, and why the stored answer is given instead."""
    count = int(k)
    noise = Geometric(Fraction(1), epsilon)
    reach = noise.interval(Fraction(9999, 10_000))[1]
    if reach * count > 20_000:
        raise InputError("too many answers at too small an epsilon", hint="Raise epsilon, or use fewer.")
    one = np.array([float(noise.mass(z)) for z in range(-reach, reach + 1)])
    law, widths = np.array([1.0]), []
    for asked in range(1, count + 1):
        law = np.convolve(law, one)
        widths.append((float(asked), _half_width(law) / asked))
    kept = [(float(asked), widths[0][1]) for asked in range(1, count + 1)]
    picture = curves(
        [("fresh noise each time", widths), ("the stored answer", kept)],
        title="The same query, again and again",
        axis="answers that are averaged",
        measure="± at 95 %",
        bare=True,
    )
    total = sequential([price(Pure(epsilon))] * count).epsilon or Fraction(0)
    rows = [
        [f"± after {count} fresh answers", f"{widths[-1][1]:.3g}"],
        ["what they would cost together", f"epsilon {show(total)}"],
        ["what the ledger takes for the stored answer", f"epsilon {show(epsilon)}, once"],
    ]
    code = f"sequential([price(Pure(Fraction({str(epsilon)!r})))] * {count}).epsilon"
    return _page(picture, rows, f"from sfumato.accounting import Pure, price, sequential\n{code}")


def _half_width(law: NDArray[np.float64]) -> float:
    """The least t with at least 95 % of the mass within ± t of the middle."""
    middle = len(law) // 2
    for t in range(middle + 1):
        if law[middle - t : middle + t + 1].sum() >= 0.95:
            return float(t)
    return float(middle)


def _composition(epsilon: Fraction, delta: Fraction, k: Fraction) -> dict[str, Any]:
    """What k questions cost together, by every rule that there is here."""
    count = int(k)
    counts = sorted({max(1, round(count * i / _MOST_POINTS)) for i in range(1, _MOST_POINTS + 1)} | {1})
    each = price(Pure(epsilon))
    assert each.rho is not None
    found: dict[str, list[tuple[float, float]]] = {
        name: [] for name in ("basic", "advanced", "optimal", "zCDP", "best")
    }
    for n in counts:
        basic = sequential([each] * n).epsilon or Fraction(0)
        by_rho = epsilon_of_rho(each.rho * n, delta)
        totals = {
            "basic": basic,
            "advanced": advanced(epsilon, 0, n, delta)[0],
            "optimal": optimal(epsilon, 0, n, total_delta=delta)[0],
            "zCDP": by_rho,
            "best": min(basic, by_rho),
        }
        for name, total in totals.items():
            found[name].append((float(n), float(total)))
    top = 1.2 * found["basic"][-1][1]
    lines = [(name, [point for point in line if point[1] <= top] or line[:1]) for name, line in found.items()]
    picture = curves(lines, title=f"{count} queries together", axis="queries", measure="epsilon in all", bare=True)
    names = {
        "basic": "basic: epsilons add up",
        "advanced": "advanced composition",
        "optimal": "optimal composition",
        "zCDP": "zCDP: rho adds up",
        "best": "best: pure or zCDP, as the ledger counts",
    }
    rows = [[names[name], f"{line[-1][1]:.4g}"] for name, line in found.items()]
    code = f"epsilon_of_rho({count} * price(Pure(Fraction({str(epsilon)!r}))).rho, Fraction({str(delta)!r}))"
    return _page(picture, rows, f"from sfumato.accounting import Pure, epsilon_of_rho, price\n{code}")


def _response(epsilon: Fraction) -> dict[str, Any]:
    said = RandomizedResponse(epsilon)
    no, yes = ([float(said.mass(output, value)) for output in (0, 1)] for value in (0, 1))
    picture = neighbours(
        ["no", "yes"],
        no,
        yes,
        epsilon=epsilon,
        title="Randomized response: what is reported",
        axis="answer",
        labels=("the truth is no", "the truth is yes"),
        bare=True,
    )
    odds = _odds_rows(epsilon, "Bob's true answer is yes")
    rows = [["the truth is reported with probability", f"{float(said.mass(1, 1)):.4f}"], *odds]
    code = f"RandomizedResponse(Fraction({str(epsilon)!r})).mass(1, 1)"
    return _page(picture, rows, f"from sfumato.mechanisms import RandomizedResponse\n{code}")


def _joint(epsilon: Fraction, colours: Fraction, traits: Fraction) -> dict[str, Any]:
    """Eye colours exclude each other, eyes and hair do not: the first is one price, the second adds up."""
    values, questions = int(colours), int(traits)
    one = price(Pure(epsilon))
    together = parallel([one] * values)
    all_of_it = sequential([together] * questions)
    apart = sequential([one] * (values * questions))
    rules = {"as groups": parallel, "as if they overlapped": sequential}
    lines = [
        (name, [(float(n), float(rule([one] * n).epsilon or 0)) for n in range(1, values + 1)])
        for name, rule in rules.items()
    ]
    picture = curves(lines, title="Counts of people by colour", axis="colours", measure="epsilon", bare=True)
    rows = [
        [f"{values} colours of eyes, as one GROUP BY", f"epsilon {show(together.epsilon or Fraction(0))}"],
        [f"{questions} such traits of the same people", f"epsilon {show(all_of_it.epsilon or Fraction(0))}"],
        ["the same counts, queried one by one", f"epsilon {show(apart.epsilon or Fraction(0))}"],
    ]
    code = f"parallel([price(Pure(Fraction({str(epsilon)!r})))] * {values})"
    return _page(picture, rows, f"from sfumato.accounting import Pure, parallel, price\n{code}")


def _utility(**given: Any) -> dict[str, Any]:
    return _page(*playground_utility.draw(**given))


def _grid(**given: Any) -> dict[str, Any]:
    return _page(*playground_grid.grid(**given))


def _attack(**given: Any) -> dict[str, Any]:
    return _page(*playground_grid.attack(**given))


def _short(number: Fraction) -> str:
    return f"{float(number):.4g}"


def _page(svg: str, rows: list[list[str]], code: str) -> dict[str, Any]:
    return {"svg": svg, "rows": rows, "code": f"from fractions import Fraction\n{code}"}


_EPSILON = ("0.01", "5", "0.5")
PAGES: dict[str, PlayPage] = {
    "geometric": PlayPage({"epsilon": _EPSILON, "sensitivity": ("1", "20", "1")}, _law),
    "laplace": PlayPage({"epsilon": _EPSILON, "grid": ("0.05", "1", "0.1")}, _laplace),
    "gaussian": PlayPage({"rho": ("0.001", "5", "0.1")}, _gaussian),
    "averaging": PlayPage({"epsilon": ("0.1", "3", "0.5"), "k": ("2", "60", "20")}, _averaging),
    "composition": PlayPage(
        {"epsilon": ("0.01", "2", "0.1"), "delta": ("1e-12", "0.001", "1e-6"), "k": ("2", "400", "100")}, _composition
    ),
    "response": PlayPage({"epsilon": _EPSILON}, _response),
    "joint": PlayPage({"epsilon": _EPSILON, "colours": ("2", "20", "4"), "traits": ("1", "10", "2")}, _joint),
    "utility": PlayPage(
        {"n": ("2", "12", "10"), "epsilon": ("0.1", "3", "0.7"), "seen": ("0", "n", "3")},
        _utility,
        {
            "mechanism": playground_utility.MECHANISMS,
            "prior": tuple(playground_utility.PRIORS),
            "gain": playground_utility.GAINS,
        },
    ),
    "grid": PlayPage(
        {
            "side": ("2", "5", "4"),
            "epsilon": ("0.1", "3", "1"),
            "column": ("1", "side", "2"),
            "row": ("1", "side", "2"),
        },
        _grid,
    ),
    "attack": PlayPage(
        {"epsilon": ("0.1", "10", "4"), "people": ("1", "40", "1"), "guess": ("0.5", "0.95", "0.5")}, _attack
    ),
}
WHOLE = ("sensitivity", "k", "colours", "traits", "n", "seen", "side", "column", "row", "people")
WORDS = tuple(dict.fromkeys(name for page in PAGES.values() for name in page.numbers))
CHOICES = {name: words for page in PAGES.values() for name, words in page.choices.items()}


def play(name: str, given: Mapping[str, str]) -> dict[str, Any]:
    """One page, with the numbers that it was drawn with and their limits."""
    if name not in PAGES:
        raise InputError("unknown page", hint=f"Use one of {', '.join(PAGES)}.")
    page = PAGES[name]
    for word in given:
        if word not in page.numbers and word not in page.choices:
            known = ", ".join((*page.numbers, *page.choices))
            raise InputError(f'"{word}" is not a number of this page', hint=f"Known numbers: {known}.")
    numbers, limits = _numbers(page, given)
    chosen = {word: _chosen(word, given.get(word, words[0]), words) for word, words in page.choices.items()}
    return {
        "page": name,
        "numbers": {word: show(value) for word, value in numbers.items()},
        "limits": limits,
        "chosen": chosen,
        "choices": {word: list(words) for word, words in page.choices.items()},
        **page.draw(**numbers, **chosen),
    }


def _numbers(page: PlayPage, given: Mapping[str, str]) -> tuple[dict[str, Fraction], dict[str, list[str]]]:
    numbers: dict[str, Fraction] = {}
    limits = {}
    for word, (low, high, otherwise) in page.numbers.items():
        text = given.get(word, otherwise)
        if not WRITTEN.fullmatch(text):
            raise InputError(f"{word} must be a number like 0.1 or 1/10")
        value, follows = as_written(text, word), high in numbers
        most = numbers[high] if follows else as_written(high)
        value = min(value, most) if follows else value
        if not as_written(low) <= value <= most:
            raise InputError(f"{word} must be from {low} to {high}")
        if word in WHOLE and value.denominator != 1:
            raise InputError(f"{word} must be a whole number")
        numbers[word], limits[word] = value, [low, show(most)]
    return numbers, limits


def _chosen(word: str, given: str, words: tuple[str, ...]) -> str:
    if given not in words:
        raise InputError(f"unknown {word}", hint=f"Use one of {', '.join(words)}.")
    return given
