"""Results as text: a line a record, a folder a batch, and a repeated batch is written once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples import text_batches
from examples.ip_fraud.traffic import batches
from examples.text_batches import BATCH_RECORDS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def lines_of(folder: Path) -> list[str]:
    return [
        line for file in sorted(folder.glob("part-*")) for line in file.read_text().splitlines()
    ]


@pytest.mark.spec("book1:F-12")
def test_a_line_a_record_and_a_folder_a_batch(
    spark: SparkSession, servers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders are named prefix-batch.suffix; a repeated batch replaces its own and no other."""
    folder = tmp_path / "requests"
    monkeypatch.setattr(text_batches, "FOLDER", folder)
    writer = text_batches.pipeline(spark).option("checkpointLocation", str(tmp_path / "point"))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(90)
    sent = [r.text for b in batches(text_batches.SAMPLE) for r in b.requests]
    names = [f"batch-{number}.txt" for number in range(len(list(folder.iterdir())))]
    assert len(names) >= len(sent) / BATCH_RECORDS > 1
    found = [lines_of(folder / name) for name in names]
    assert sorted(line for lines in found for line in lines) == sorted(sent)
    assert all(0 < len(lines) <= BATCH_RECORDS for lines in found)

    again = spark.createDataFrame([("first",), ("second",)], "line string").coalesce(1)
    text_batches.save_text(folder, "batch", "txt")(again, 0)
    text_batches.save_text(folder, "plain")(again, 7)
    assert lines_of(folder / "batch-0.txt") == lines_of(folder / "plain-7") == ["first", "second"]
    assert lines_of(folder / names[1]) == found[1]
