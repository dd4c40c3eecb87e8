"""DescribeClientQuotas: what is stored, by what was asked for."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from tests.clients.quotas.requests import ask
from tests.clients.raw import Connection


@pytest.mark.parametrize(
    ("component", "error"),
    [
        (("group", 0, "g"), Error.UNSUPPORTED_VERSION),
        (("user", 0, None), Error.INVALID_REQUEST),
        (("user", 1, "u"), Error.INVALID_REQUEST),
        (("user", 7, None), Error.INVALID_REQUEST),
        (("", 0, "u"), Error.INVALID_REQUEST),
    ],
)
def test_a_question_without_a_meaning_is_refused(
    connection: Connection, component: tuple[str, int, str | None], error: Error
) -> None:
    """An entity type nobody knows, a match with too much or too little: refused whole."""
    response = ask(connection, component)
    assert (response.error_code, response.entries) == (error, None)
