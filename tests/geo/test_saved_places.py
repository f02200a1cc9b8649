"""Saved places: a file that holds anything else is refused, and two processes draw the noise of a name once."""

import threading

import pytest

from sfumato.errors import InputError
from sfumato.geo.saved_places import SavedPlaces


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [NaN, 1]}', '{"a": [1e400, 1]}', '{"a": [91, 1]}', '{"a": [1, 361]}', '{"a": ["1", "2"]}',
        '{"a": [true, 2]}', '{"a": [1]}', '{"a": [1, 2, 3]}', '{"a": 5}', "[]", "5", "{", "[" * 100_000, "9" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_place_is_not_reported(text, tmp_path):
    (tmp_path / "places.json").write_text(text)
    with pytest.raises(InputError, match="not a file of saved places"):
        SavedPlaces(tmp_path / "places.json")


def test_a_name_is_saved_once_by_all_who_save_it(tmp_path):
    """Each has read the file before any of them writes it."""
    every = [SavedPlaces(tmp_path / "places.json") for _ in range(8)]
    saved = []

    def save(number):
        try:
            saved.append(every[number].save("home", number, number))
        except InputError:
            pass
        every[number].save(f"place {number}", number, number)

    threads = [threading.Thread(target=save, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = SavedPlaces(tmp_path / "places.json").places
    assert len(saved) == 1
    assert held["home"] == saved[0]
    assert len(held) == 9
