"""Trucks: dangerous events go on, with their keys and with their drivers' names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.topics import Draft, provide
from examples.truck_positions import (
    DANGEROUS,
    DRIVERS,
    PARTITIONS,
    POSITIONS,
    WITH_DRIVER,
    dangerous_driving,
    position,
    with_driver,
)
from tests.apps.reading import read_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spec("slides:O32", "slides:O34", "slides:O36")
def test_only_dangerous_events_go_on(spark: SparkSession, servers: str, tmp_path: Path) -> None:
    """Records as they came, keyed by driver; a second query adds the newest name of the driver."""
    sent = [
        position(1, 11, "Normal"),
        position(2, 11, "Overspeed"),
        position(3, 12, "Lane Departure"),
        position(4, 99, "Unsafe following distance"),
        position(5, 12, "Normal"),
        Draft("not,a,position", "12"),
    ]
    provide(POSITIONS, sent, partitions=PARTITIONS)
    names = [Draft("Old Name", "11"), Draft("Mara Lind", "11"), Draft("Ole Berg", "12")]
    provide(DRIVERS, names)
    provide(DANGEROUS)
    provide(WITH_DRIVER)
    for number, writer in enumerate((dangerous_driving(spark), with_driver(spark))):
        query = (
            writer.option("checkpointLocation", str(tmp_path / str(number)))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    assert {record.partition for record in read_topic(servers, POSITIONS)} <= set(range(8))
    found = {(record.key or b"", record.text) for record in read_topic(servers, DANGEROUS)}
    expected = {(str(draft.key).encode(), str(draft.value)) for draft in sent[1:4]}
    assert found == expected
    named = [json.loads(record.text) for record in read_topic(servers, WITH_DRIVER)]
    events = {(event["driver_id"], event.get("name"), event["event_type"]) for event in named}
    assert events == {
        ("11", "Mara Lind", "Overspeed"),
        ("12", "Ole Berg", "Lane Departure"),
        ("99", None, "Unsafe following distance"),
    }
