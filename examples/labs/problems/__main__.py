"""All six problems on one broker."""

from __future__ import annotations

from examples.labs.problems import (
    a_keys,
    b_partitions,
    c_files,
    d_groups,
    e_compaction,
    f_batches,
)
from examples.labs.staging import on_broker
from headrace.testing import Broker


def story(broker: Broker) -> None:
    for problem in (a_keys, b_partitions, c_files, d_groups, e_compaction, f_batches):
        problem.story(broker)


if __name__ == "__main__":
    on_broker(story)
