"""The table of the topology in Hive's catalog, in a process of its own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from examples.ip_fraud.hive_table import BUCKETS
from examples.ip_fraud.rules import FraudRow, fraud_row
from examples.ip_fraud.traffic import truth_of
from tests.apps.hive_drill import PLAN
from tests.apps.reading import texts

TIMEOUT_S = 110


@pytest.mark.spec(
    "book1:A-15",
    "book1:K-21",
    "book2:A1-22",
    "book2:A1-23",
    "book2:A1-25",
    "book2:A1-28",
    "book2:A1-31",
    "book2:A1-32",
)
def test_fraud_is_in_the_topic_and_in_hive(servers: str, quick_start: str, tmp_path: Path) -> None:
    """ORC, partitioned by status, five buckets by address; as many rows as records in the topic."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.apps.hive_drill", str(tmp_path), quick_start],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads((tmp_path / "found.json").read_text())
    truth = truth_of(PLAN)
    expected = Counter(fraud_row(text) for text in truth.fraud.elements())
    assert Counter(texts(servers, "fraudip")) == truth.fraud
    assert Counter(FraudRow(*row) for row in found["rows"]) == expected
    assert tuple(found["columns"]) == FraudRow._fields
    assert (found["catalog"], found["metastore"]) == ("hive", True)
    details = found["details"]
    assert details["Provider"].lower() == "orc"
    assert details["Num Buckets"] == str(BUCKETS) == "5"
    assert details["Bucket Columns"] == "[`ip`]"
    statuses = {row.status_code for row in expected if row is not None}
    assert {part.removeprefix("status_code=") for part in found["partitions"]} == statuses
    buckets = {re.search(r"_(\d{5})", name) for name in found["files"]}
    assert len({match[1] for match in buckets if match}) > 1
