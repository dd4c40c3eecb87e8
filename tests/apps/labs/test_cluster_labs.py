"""The labs on three brokers, all on one cluster."""

from __future__ import annotations

import re

import pytest

from examples.labs import (
    customers_replicated,
    isr_lag,
    replica_check,
    replica_placement,
    zookeeper_watch,
)
from examples.labs.stock import producing
from headrace.testing import Cluster


@pytest.mark.spec("slides:O12", "slides:O13", "slides:O15", "slides:O17", "slides:C47")
def test_the_stock_producer(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C ends it with 130, and all that it had sent is on three brokers."""
    producing.story(cluster)
    out = capsys.readouterr().out
    shown = r'sent key=IBM \{"dollars": \d+, "cents": \d+, "name": "IBM"\} topic=stock-prices '
    assert re.search(shown + r"partition=2 offset=\d+ time=\d+", out)
    assert "onAck topic=stock-prices partition=" in out
    assert "✓ it ends with 130" in out


@pytest.mark.spec("slides:O07", "slides:M12")
def test_the_check_of_replicas(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """The lag is 0, rises to 11 and 15 while a broker is away, and is 0 again."""
    replica_check.story(cluster)
    lags = [int(lag) for lag in re.findall(r"max lag is (\d+) for", capsys.readouterr().out)]
    assert [lag for lag in dict.fromkeys(lags) if lag in (0, 11, 15)] == [0, 11, 15]
    assert lags[-1] == 0


@pytest.mark.spec("admin:LB-16", "admin:LB-13", "slides:B04")
def test_customers_on_three_brokers(cluster: Cluster) -> None:
    """One replica is one folder somewhere; three replicas are three equal logs."""
    customers_replicated.story(cluster)


@pytest.mark.spec("admin:LB-17", "admin:RC-24", "admin:RC-27")
def test_a_watch_tells_of_a_broker(cluster: Cluster) -> None:
    """The controller is stopped: its id goes, another broker decides."""
    zookeeper_watch.story(cluster)


@pytest.mark.spec("admin:LB-19", "admin:RC-30", "admin:RC-22")
def test_followers_that_lag(cluster: Cluster) -> None:
    """The leader alone is in sync: acks=all is refused, and nobody may take its place."""
    isr_lag.story(cluster)


@pytest.mark.spec("admin:LB-27", "admin:RC-03", "admin:RC-42")
def test_placement_and_the_loss_of_a_leader(cluster: Cluster) -> None:
    """Four replicas on four of five brokers; the next in sync takes over."""
    replica_placement.story(cluster)
    assert [broker.id for broker in cluster.brokers] == [0, 1, 2]
