"""`headrace plan`: how many partitions, brokers, disks, how much memory and network a load needs.

The goals come first, quantified: what is written, how long it is kept, how often it is read, how
much it will grow. The formulas are in `sizing`, the warnings in `advice`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import typer

from headrace.cli.durations import parse_duration_ms
from headrace.cli.failures import WrongUsage
from headrace.cli.options import OutputOption
from headrace.cli.output import Output, emit, table
from headrace.cli.plan import options as given
from headrace.cli.plan.advice import (
    BROKER_HARDWARE,
    ZOOKEEPER_HARDWARE,
    Circumstances,
    Storage,
    tolerated_failures,
    warnings,
)
from headrace.cli.plan.sizing import Load, Machine, Need, Sizing, loads, size
from headrace.cli.sizes import parse_bytes, show_bytes

LARGEST: Final = 10**15
"""As an amount of data may be without its unit; products of such numbers are finite."""
EPILOG = (
    "Example: headrace plan --rate 10000 --message-size 1KB --retention 7d --replicas 3 "
    "--disk 4TB --producer-rate 10MB/s --consumer-rate 20MB/s"
)


def register(app: typer.Typer) -> None:
    app.command("plan", epilog=EPILOG)(plan)


def plan(
    rate: given.Rate = None,
    message_size: given.MessageSize = "1KB",
    retention: given.Retention = "7d",
    replicas: given.Replicas = 3,
    consumers: given.Consumers = 1,
    growth: given.Growth = 0,
    producer_rate: given.ProducerRate = None,
    consumer_rate: given.ConsumerRate = None,
    partitions: given.Partitions = None,
    brokers: given.Brokers = None,
    disk: given.Disk = "12TB",
    disk_speed: given.DiskSpeed = "600MB/s",
    network: given.Network = "10Gbit/s",
    broker_rate: given.BrokerRate = "200MB/s",
    memory: given.Memory = "64GB",
    buffer_time: given.BufferTime = "30s",
    storage: given.StorageKind = Storage.SSD,
    shared_disks: given.SharedDisks = False,
    data_centres: given.DataCentres = 1,
    min_insync_replicas: given.MinInsyncReplicas = 2,
    tls: given.Tls = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Size a cluster of Headrace brokers for a load; no broker is contacted."""
    _check_numbers(
        {
            "--rate": rate,
            "--growth": growth,
            "--replicas": replicas,
            "--consumers": consumers,
            "--partitions": partitions,
            "--brokers": brokers,
            "--data-centres": data_centres,
            "--min-insync-replicas": min_insync_replicas,
        }
    )
    if not rate:
        raise WrongUsage(
            "--rate is missing", "say how much is written: --rate 10000 --message-size 1KB"
        )
    factor = 1 + growth / 100
    load = Load(
        messages_per_second=rate * factor,
        message_bytes=_positive(message_size, "--message-size"),
        retention_s=parse_duration_ms(retention, "--retention") / 1000,
        replication_factor=replicas,
        consumers=consumers,
        producer_bytes_per_second=_rate(producer_rate, "--producer-rate"),
        consumer_bytes_per_second=_rate(consumer_rate, "--consumer-rate"),
        tls=tls,
    )
    machine = Machine(
        disk_bytes=_positive(disk, "--disk"),
        bandwidth_bytes_per_second=_positive(network, "--network"),
        disk_bytes_per_second=_positive(disk_speed, "--disk-speed"),
        buffer_s=parse_duration_ms(buffer_time, "--buffer-time") / 1000,
        core_bytes_per_second=_positive(broker_rate, "--broker-rate"),
    )
    around = Circumstances(
        ram_bytes=_positive(memory, "--memory"),
        storage=storage,
        data_centres=data_centres,
        shared_disks=shared_disks,
        min_insync_replicas=min_insync_replicas,
    )
    sizing = size(load, machine, partitions=partitions, brokers=brokers)
    told = _as_data(load, machine, sizing, around)
    emit(told, output, lambda: _as_text(sizing, told))


def _check_numbers(given: Mapping[str, float | None]) -> None:
    """Refuse what is no number to calculate with: infinity, "nan", and whatever leads there."""
    for option, number in given.items():
        if number is not None and not number <= LARGEST:
            raise WrongUsage(
                f"{option} {number} is too large or no number", f"give up to {LARGEST:,}"
            )


def _rate(text: str | None, option: str) -> int | None:
    return None if text is None else _positive(text, option)


def _positive(text: str, option: str) -> int:
    found = parse_bytes(text, option)
    if found < 1:
        raise WrongUsage(f'{option} "{text}" is not positive', "give more than 0")
    return found


def _as_data(load: Load, machine: Machine, sizing: Sizing, around: Circumstances) -> dict[str, Any]:
    reasons = {name.lower().replace(" ", "_"): need for name, need in sizing.brokers_by.items()}
    writing, keeping = tolerated_failures(load, around)
    return {
        "throughput_bytes_per_second": round(load.bytes_per_second),
        "loads_bytes_per_second": loads(load),
        "partitions": int(sizing.partitions.value),
        "brokers": sizing.brokers,
        "brokers_by": {reason: int(need.value) for reason, need in reasons.items()},
        "disk_bytes_per_broker": round(sizing.disk_per_broker.value),
        "process_bytes_per_broker": round(sizing.process_per_broker.value),
        "buffer_bytes_per_broker": round(sizing.buffer_per_broker.value),
        "network_bytes_per_second_per_broker": round(sizing.network_per_broker.value),
        "failures_until_producers_stop": writing,
        "failures_until_records_are_lost": keeping,
        "formulas": {
            "partitions": sizing.partitions.formula,
            **{f"brokers_by_{reason}": need.formula for reason, need in reasons.items()},
            "disk_bytes_per_broker": sizing.disk_per_broker.formula,
            "process_bytes_per_broker": sizing.process_per_broker.formula,
            "buffer_bytes_per_broker": sizing.buffer_per_broker.formula,
            "network_bytes_per_second_per_broker": sizing.network_per_broker.formula,
        },
        "hardware": {"broker": BROKER_HARDWARE, "zookeeper": ZOOKEEPER_HARDWARE},
        "warnings": list(warnings(load, machine, sizing, around)),
    }


def _as_text(sizing: Sizing, told: dict[str, Any]) -> str:
    def row(what: str, value: str, need: Need) -> dict[str, object]:
        return {"what": what, "needed": value, "because": need.formula}

    rows = [row("partitions", f"{sizing.partitions.value:,.0f}", sizing.partitions)]
    rows += [
        row(f"brokers by {reason}", f"{need.value:,.0f}", need)
        for reason, need in sizing.brokers_by.items()
    ]
    rows.append(
        {
            "what": "brokers",
            "needed": f"{sizing.brokers:,}",
            "because": sizing.because,
        }
    )
    rows += [
        row("disk per broker", show_bytes(sizing.disk_per_broker.value), sizing.disk_per_broker),
        row(
            "process per broker",
            show_bytes(sizing.process_per_broker.value),
            sizing.process_per_broker,
        ),
        row(
            "page cache per broker",
            show_bytes(sizing.buffer_per_broker.value),
            sizing.buffer_per_broker,
        ),
        row(
            "network per broker",
            f"{show_bytes(sizing.network_per_broker.value)}/s",
            sizing.network_per_broker,
        ),
    ]
    rates = "".join(
        f"  {name}: {show_bytes(rate)}/s\n" for name, rate in told["loads_bytes_per_second"].items()
    )
    failures = (
        f"\nbrokers that may fail: {told['failures_until_producers_stop']} while producers with "
        f"acks=all continue, {told['failures_until_records_are_lost']} before records are lost\n"
    )
    machines = "".join(f"  {key}: {text}\n" for key, text in BROKER_HARDWARE.items())
    risks = "".join(f"warning: {text}\n" for text in told["warnings"])
    lines = table(rows, ["what", "needed", "because"])
    return (
        f"{lines}\nloads of the cluster\n{rates}{failures}"
        f"\nrecommended machine for a broker\n{machines}" + (f"\n{risks}" if risks else "")
    )
