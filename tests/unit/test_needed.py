"""A tool that is missing is a loud skip, and a failure where everything must be there."""

from __future__ import annotations

import pytest

from tests.needed import needed


def test_a_module_that_is_missing_fails_where_everything_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no_such_module"):
        needed("no_such_module")
    monkeypatch.setenv("CI", "")
    with pytest.raises(pytest.skip.Exception, match="no_such_module"):
        needed("no_such_module")
    assert needed("pytest") is pytest
