"""compaction: ten million records of a million keys, until the cleaner has noted them as clean.

The topic is filled with librdkafka while its policy is `delete`, so that all of it is dirty when
the policy becomes `compact`: from that request on the time counts, until the partition's line in
`cleaner-offset-checkpoint` reaches the active segment. The brokers are stopped after filling, and
each repetition runs on a copy of the folder. A tenth of the load in a topic of its own is compacted
first, uncounted: a JVM is slow until it has compiled what it does. Memory is the largest that was
seen meanwhile.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks import admin
from benchmarks.bench import Bench, Scenario
from benchmarks.brokers import Broker
from benchmarks.errors import BenchmarkError
from benchmarks.table import Metric, Row, Sample, at_most
