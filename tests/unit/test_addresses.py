"""Addresses of servers are shown and recorded without their passwords."""

import pytest

from sfumato.types import without_password


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ana:secret@host/db#t", "postgresql://ana@host/db#t"),
        ("postgresql://host/db?user=ana&password=secret#t", "postgresql://host/db?user=ana#t"),
        ("postgresql://host/db?password=secret#t", "postgresql://host/db#t"),
        ("postgresql://host/db?pass%77ord=secret&sslpassword=secret&port=1", "postgresql://host/db?port=1"),
        ("postgresql://ana:secret@host/db?password=secret", "postgresql://ana@host/db"),
        ("postgresql://host/db#t", "postgresql://host/db#t"),
        ("what?password=is.csv", "what?password=is.csv"),
    ],
)
def test_an_address_is_shown_without_its_password(address, shown):
    assert without_password(address) == shown
