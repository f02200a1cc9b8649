"""noise = "auto": which noise it is under each composition, and that nobody's epsilon is closed unasked."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import sfumato
from sfumato.errors import InputError
from sfumato.gateway.gateway import Gateway

COUNTS = ", ".join(f"COUNT(*) FILTER (WHERE x > {i}) AS c{i}" for i in range(8))
MANY = f"SELECT {COUNTS} FROM data"


def gate(composition: str, **more: Any) -> Gateway:
    frame = pd.DataFrame({"id": range(500), "x": [i % 50 for i in range(500)]})
    with pytest.warns(UserWarning, match="no ledger"):
        return sfumato.protect(
            frame,
            unit="id",
            rows_per_unit=1,
            epsilon=4,
            delta=1e-6,
            composition=composition,
            bounds={"x": (0, 60)},
            **more,
        )


def noise_of(answer: Any) -> str:
    assert answer.plan is not None
    return str(answer.plan.noise)


def test_under_pure_it_is_geometric() -> None:
    with gate("pure") as gateway:
        answer = gateway.sql(MANY, epsilon="0.1", noise="auto")
        assert noise_of(answer) == "geometric"
        assert gateway.sql(MANY, epsilon="0.1", noise="geometric").cost.epsilon == 0
        assert not any("noise =" in note for _, note in gateway.explain(MANY, epsilon="0.2").notes)


def test_under_zcdp_it_is_the_one_with_narrower_intervals() -> None:
    with gate("zcdp") as gateway:
        by = {noise: gateway.explain(MANY, epsilon="0.1", noise=noise) for noise in ("geometric", "gaussian", "auto")}
        widths = {noise: one.columns[0].half_width("0.95") for noise, one in by.items()}
        assert widths["auto"] == min(widths["geometric"], widths["gaussian"])
        assert noise_of(gateway.sql(MANY, epsilon="0.1", noise="auto")) == "gaussian"
        told = [note for _, note in by["geometric"].notes if '(noise = "gaussian")' in note]
        ratio = widths["gaussian"] / widths["geometric"]
        assert len(told) == 1
        assert f"about {100 * (1 - float(ratio)):.0f} % narrower" in told[0]
        assert "tracked in rho only" not in told[0]
        assert not any("would make" in note for _, note in by["gaussian"].notes)


def test_under_best_epsilon_is_not_closed_unasked() -> None:
    with gate("best") as gateway:
        preview = gateway.explain(MANY, epsilon="0.1", noise="auto")
        assert preview.columns[0].law == "geometric"
        assert any("tracked in rho only" in note for _, note in preview.notes)  # said before, of the other noise
        answer = gateway.sql(MANY, epsilon="0.1", noise="auto")
        assert noise_of(answer) == "geometric"
        assert gateway.budget().spent.epsilon is not None
        gateway.sql("SELECT AVG(x) FROM data", epsilon="0.1", noise="gaussian")
        assert gateway.budget().spent.epsilon is None
        other = MANY.replace("x >", "x >=")
        assert noise_of(gateway.sql(other, epsilon="0.1", noise="auto")) == "gaussian"
        assert gateway.sql(MANY, epsilon="0.1", noise="auto").cost.rho == 0  # the stored answer is free


def test_what_auto_takes_is_the_same_query() -> None:
    """Its answer is stored under the noise that it stands for, so that asking for that is free."""
    with gate("zcdp") as gateway:
        first = gateway.sql(MANY, epsilon="0.1", noise="auto")
        again = gateway.sql(MANY, epsilon="0.1", noise="gaussian")
        assert again.cost.rho == 0
        assert again.rows == first.rows
        assert gateway.sql(MANY, epsilon="0.1", noise="auto").rows == first.rows
        within = gateway.sql("SELECT COUNT(*) FROM data", within=40, noise="auto")
        costs = {
            noise: gateway.explain("SELECT COUNT(*) FROM data", within=40, noise=noise).cost
            for noise in ("geometric", "gaussian")
        }
        assert noise_of(within) == "gaussian"
        assert costs["geometric"] is not None
        assert within.cost.rho < costs["geometric"].rho  # type: ignore[operator]


def test_choices_and_means_are_compared_too() -> None:
    with gate("zcdp") as gateway:
        for item in ("MEDIAN(x)", "AVG(x)", "MEDIAN(x), COUNT(*)"):
            assert gateway.explain(f"SELECT {item} FROM data", noise="auto").columns[0].law != "exact"
            assert noise_of(gateway.sql(f"SELECT {item} FROM data", epsilon="0.1", noise="auto")) == "gaussian"


def test_other_words_are_refused() -> None:
    with gate("best") as gateway, pytest.raises(InputError, match="not known") as caught:
        gateway.sql(MANY, noise="loud")
    assert '"auto"' in str(caught.value.hint)
    with gate("best") as gateway:
        refused = gateway.explain("SELECT x FROM data", noise="auto").refused
        assert refused is not None
