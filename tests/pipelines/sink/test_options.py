"""What a user may say to a sink, and what is answered to the rest."""

from __future__ import annotations

import logging
import pickle

import pytest

from headrace.errors import ConfigError
from headrace.pipelines.sink.options import Guarantee, SinkOptions, sink_options
from headrace.records.compression import Codec


def test_defaults_are_exactly_once_with_all_acks() -> None:
    """Nothing given: the strong guarantee, Kafka's own codec, the broker of this machine."""
    options = sink_options({})
    assert options.guarantee is Guarantee.EXACTLY_ONCE
    assert (options.acks, options.codec, options.level) == (-1, Codec.NONE, None)
    assert options.transaction_timeout_ms == 900_000
    assert options.topic is None
    assert not options.ignore_keys


def test_bootstrap_servers_come_from_the_option_then_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pipeline without any address finds the broker that `headrace run` has started."""
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", "127.0.0.1:1234")
    assert sink_options({}).settings.bootstrap_servers == (("127.0.0.1", 1234),)
    given = sink_options({"kafka.bootstrap.servers": "a:1,b:2"})
    assert given.settings.bootstrap_servers == (("a", 1), ("b", 2))


def test_producer_settings_are_honoured_where_they_have_a_meaning() -> None:
    """Names of Kafka's producer behind `kafka.`, in any case, as Spark's options are."""
    options = sink_options(
        {
            "Topic": "orders",
            "guarantee": "at-least-once",
            "kafka.compression.type": "lz4",
            "kafka.compression.lz4.level": "12",
            "kafka.compression.zstd.level": "7",
            "kafka.batch.size": "65536",
            "kafka.max.request.size": "2097152",
            "kafka.acks": "1",
            "kafka.transaction.timeout.ms": "1000",
            "kafka.delivery.timeout.ms": "5000",
            "kafka.client.id": "me",
            "kafka.partitioner.ignore.keys": "true",
            "kafka.linger.ms": "5",
            "kafka.retries": "3",
        }
    )
    assert options == SinkOptions(
        settings=options.settings,
        topic="orders",
        guarantee=Guarantee.AT_LEAST_ONCE,
        write_name=None,
        codec=Codec.LZ4,
        level=12,
        batch_bytes=65536,
        request_bytes=2097152,
        acks=1,
        transaction_timeout_ms=1000,
        ignore_keys=True,
    )
    assert (options.settings.api_timeout_ms, options.settings.client_id) == (5000, "me")
    assert pickle.loads(pickle.dumps(options)) == options


def test_gzip_takes_minus_one_for_its_default() -> None:
    """KIP-390 writes zlib's own choice so."""
    options = sink_options({"kafka.compression.type": "gzip", "kafka.compression.gzip.level": "-1"})
    assert (options.codec, options.level) == (Codec.GZIP, 6)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"guarantee": "twice"}, "guarantee is 'twice': allowed is exactly-once or at-least-once"),
        ({"topic": ""}, "topic is empty"),
        ({"kafka.acks": "1"}, "exactly-once needs all"),
        ({"kafka.acks": "0"}, "allowed is all, or 1 with guarantee = at-least-once"),
        ({"kafka.compression.type": "zip"}, "kafka.compression.type: unknown codec 'zip'"),
        (
            {"kafka.compression.type": "zstd", "kafka.compression.zstd.level": "99"},
            "kafka.compression.zstd.level is '99': allowed is a number from -131072 to 22",
        ),
        ({"kafka.batch.size": "0"}, "kafka.batch.size is '0': allowed is a number from 1"),
        ({"kafka.max.request.size": "a lot"}, "kafka.max.request.size is 'a lot'"),
        ({"kafka.partitioner.ignore.keys": "maybe"}, "allowed is true or false"),
        ({"kafka.bootstrap.servers": "here:there"}, "kafka.bootstrap.servers='here:there'"),
        ({"kafka.key.serializer": "x"}, "kafka.key.serializer = 'x' is not supported: keys are"),
        ({"kafka.value.serializer": "x"}, "values are written as the bytes"),
        ({"kafka.transactional.id": "x"}, "the option `guarantee` chooses"),
        ({"kafka.partitioner.class": "x"}, "into a column `partition`"),
        ({"kafka.interceptor.classes": "x"}, "no Java class can run here"),
        ({"writeName": "a b"}, "allowed are 1 to 100 letters"),
        ({"writeName": "a", "guarantee": "at-least-once"}, "only with guarantee = exactly-once"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(options: dict[str, str], text: str) -> None:
    """The message names the option, the value and what is allowed."""
    with pytest.raises(ConfigError) as caught:
        sink_options(options)
    assert text in str(caught.value)


def test_unknown_settings_are_said_and_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    """A misspelt name does not stop a query, but it is in the log."""
    with caplog.at_level(logging.WARNING):
        sink_options({"kafka.lingre.ms": "5", "kafka.linger.ms": "5"})
    assert [record.getMessage() for record in caplog.records] == [
        "option kafka.lingre.ms is not known to the headrace sink and has no effect"
    ]
