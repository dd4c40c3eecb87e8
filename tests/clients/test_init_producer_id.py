"""InitProducerId: an id for every producer, given once."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from tests.clients.raw import Connection


def initialised(connection: Connection, version: int, **options: Any) -> Any:
    request = InitProducerIdRequest(
        transactional_id=options.pop("transactional_id", None),
        transaction_timeout_ms=60_000,
        **options,
    )
    return connection.ask(request, version)


@pytest.mark.parametrize("version", range(6))
def test_every_version_gives_an_id(connection: Connection, version: int) -> None:
    """KIP-98: a producer without a transactional id begins with epoch 0."""
    result = initialised(connection, version)
    assert (result.error_code, result.producer_epoch) == (Error.NONE, 0)
    assert result.producer_id >= 0


def test_no_id_is_given_twice(bootstrap: str, connection: Connection) -> None:
    """Ids differ over requests and connections."""
    ids = [initialised(connection, 4).producer_id for _ in range(50)]
    with Connection(bootstrap) as another:
        ids += [initialised(another, 4).producer_id for _ in range(50)]
    assert len(set(ids)) == 100


def test_an_empty_transactional_id_is_refused(connection: Connection) -> None:
    """The empty string names no producer: INVALID_REQUEST, and no id."""
    result = initialised(connection, 4, transactional_id="")
    assert (result.error_code, result.producer_id) == (Error.INVALID_REQUEST, -1)


@pytest.mark.parametrize(("producer_id", "producer_epoch"), [(5, -1), (-1, 5)])
def test_an_id_without_its_epoch_is_refused(
    connection: Connection, producer_id: int, producer_epoch: int
) -> None:
    """KIP-360: a producer that names itself names both (INVALID_REQUEST)."""
    result = initialised(connection, 4, producer_id=producer_id, producer_epoch=producer_epoch)
    assert result.error_code == Error.INVALID_REQUEST
