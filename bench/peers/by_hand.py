"""What a caller does by hand for peers that know no persons: five random rows of each, by NumPy."""

from __future__ import annotations

from typing import Any


class Rows:
    """Columns of the visits, and random rows of them, at most five of a person."""

    def __init__(self, data: Any) -> None:
        import numpy as np

        self.np, self.bound = np, data.bound
        user, city, disease, age, cost, _, tag = zip(*data.table("visits"), strict=True)
        cities, diseases = ({name: i for i, name in enumerate(names)} for names in (data.cities, data.diseases))
        self.user, self.age, self.cost = np.array(user), np.array(age, float), np.array(cost, float)
        self.city, self.disease = np.array([cities[c] for c in city]), np.array([diseases[d] for d in disease])
        self.cold, self.tag = self.disease == diseases["Cold"], np.array(tag)

    def few(self, among: Any = None) -> Any:
        """The places of five random rows of each person, of all or among some."""
        np = self.np
        order = np.random.default_rng().permutation(len(self.user) if among is None else np.flatnonzero(among))
        order = order[np.argsort(self.user[order], kind="stable")]
        users = self.user[order]
        first = np.r_[0, np.flatnonzero(users[1:] != users[:-1]) + 1]
        rank = np.arange(len(users)) - np.repeat(first, np.diff(np.r_[first, len(users)]))
        return order[rank < self.bound]
