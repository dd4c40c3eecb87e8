"""The settings that every connector has, of its own accord and as a source or a sink.

Names, defaults, groups and order are Connect's; those that begin with `headrace.` are ours, and
sources have a dead letter queue here as well. What a class has beyond these stands in its own
definition.
"""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect.config.definition import (
    Definition,
    Key,
    Kind,
    at_least,
    distinct,
    not_empty,
    one_of,
    without_controls,
)
from headrace.pipelines.connect.config.patterns import a_pattern
from headrace.pipelines.connect.faults import ConfigException

NAME: Final = "name"
CLASS: Final = "connector.class"
VERSION: Final = "connector.plugin.version"
TASKS_MAX: Final = "tasks.max"
TRANSFORMS: Final = "transforms"
PREDICATES: Final = "predicates"
TOPICS: Final = "topics"
TOPICS_REGEX: Final = "topics.regex"
DEAD_LETTERS: Final = "errors.deadletterqueue.topic.name"
EXACTLY_ONCE: Final = "exactly.once.support"
BOUNDARY: Final = "transaction.boundary"

CONVERTERS: Final = ("key.converter", "value.converter", "header.converter")
PLUGIN_VERSION: Final = ".plugin.version"

_COMMON: Final = "Common"
_ERRORS: Final = "Error Handling"
_EXACTLY_ONCE: Final = "Exactly Once Support"
_OURS: Final = "Headrace"


def _aliases(name: str, value: object) -> None:
    if value is None:
        raise ConfigException.of(name, value, "entry must be non null")
    if isinstance(value, list) and len(set(value)) < len(value):
        shown = f"[{', '.join(value)}]"
        raise ConfigException.of(name, shown, "Duplicate alias provided.")


def _positive(name: str, value: object) -> None:
    if value is not None:
        at_least(0)(name, value)


def _converter(order: int, side: str) -> tuple[Key, Key]:
    name = f"{side.lower()}.converter"
    return (
        Key(
            name,
            Kind.CLASS,
            None,
            f"The class that turns {side.lower()}s into bytes and back. Without it the worker's is "
            "taken.",
            "LOW",
            group=_COMMON,
            order=order,
            width="SHORT",
            display_name=f"{side} converter class",
        ),
        Key(
            name + PLUGIN_VERSION,
            Kind.STRING,
            None,
            f"The version of the {side.lower()} converter.",
            "LOW",
            group=_COMMON,
            order=order + 1,
            width="SHORT",
            display_name=f"{side} converter version",
        ),
    )


COMMON: Final = Definition(
    (
        Key(
            NAME,
            Kind.STRING,
            doc="The connector's name, unique in its cluster.",
            importance="HIGH",
            check=without_controls,
            group=_COMMON,
            order=1,
            width="MEDIUM",
            display_name="Connector name",
        ),
        Key(
            CLASS,
            Kind.STRING,
            doc="The full name of the connector's class, its last part, or a Python path.",
            importance="HIGH",
            group=_COMMON,
            order=2,
            width="LONG",
            display_name="Connector class",
        ),
        Key(
            VERSION,
            Kind.STRING,
            None,
            "The version that the class must have.",
            group=_COMMON,
            order=3,
            width="MEDIUM",
            display_name="Connector version",
        ),
        Key(
            TASKS_MAX,
            Kind.INT,
            1,
            "The maximum number of tasks that the work is divided into.",
            "HIGH",
            at_least(1),
            group=_COMMON,
            order=4,
            width="SHORT",
            display_name="Tasks max",
        ),
        Key(
            "tasks.max.enforce",
            Kind.BOOLEAN,
            True,
            "A connector that makes more tasks than tasks.max fails.",
            "LOW",
            group=_COMMON,
            order=5,
            width="SHORT",
            display_name="Enforce tasks max",
        ),
        *_converter(6, "Key"),
        *_converter(8, "Value"),
        *_converter(10, "Header"),
        Key(
            TRANSFORMS,
            Kind.LIST,
            [],
            "Aliases of the transforms that each record goes through, in this order.",
            "LOW",
            _aliases,
            group="Transforms",
            order=12,
            width="LONG",
            display_name="Transforms",
        ),
        Key(
            PREDICATES,
            Kind.LIST,
            [],
            "Aliases of the predicates that transforms may ask.",
            "LOW",
            _aliases,
            group="Predicates",
            order=13,
            width="LONG",
            display_name="Predicates",
        ),
        Key(
            "config.action.reload",
            Kind.STRING,
            "restart",
            "What follows when a value from a config provider changes: `restart` or `none`.",
            "LOW",
            one_of("none", "restart"),
            group=_COMMON,
            order=14,
            width="MEDIUM",
            display_name="Reload Action",
        ),
        Key(
            "errors.retry.timeout",
            Kind.LONG,
            0,
            "How many milliseconds a failed operation is retried; -1 means without end.",
            group=_ERRORS,
            order=1,
            width="MEDIUM",
            display_name="Retry Timeout for Errors",
        ),
        Key(
            "errors.retry.delay.max.ms",
            Kind.LONG,
            60_000,
            "The longest delay between two retries, in milliseconds.",
            group=_ERRORS,
            order=2,
            width="MEDIUM",
            display_name="Maximum Delay Between Retries for Errors",
        ),
        Key(
            "errors.tolerance",
            Kind.STRING,
            "none",
            "Whether a record that fails stops its task (`none`) or is skipped (`all`).",
            check=one_of("none", "all"),
            group=_ERRORS,
            order=3,
            width="SHORT",
            display_name="Error Tolerance",
        ),
        Key(
            "errors.log.enable",
            Kind.BOOLEAN,
            False,
            "Whether each failure is logged, tolerated or not.",
            group=_ERRORS,
            order=4,
            width="SHORT",
            display_name="Log Errors",
        ),
        Key(
            "errors.log.include.messages",
            Kind.BOOLEAN,
            False,
            "Whether the log names the record that failed: topic, partition, offset, time.",
            group=_ERRORS,
            order=5,
            width="SHORT",
            display_name="Log Error Details",
        ),
    )
)

_DEAD_LETTER_KEYS: Final = (
    Key(
        DEAD_LETTERS,
        Kind.STRING,
        "",
        "The topic for records that fail. Without it they are lost when failures are tolerated.",
        group=_ERRORS,
        order=6,
        width="MEDIUM",
        display_name="Dead Letter Queue Topic Name",
    ),
    Key(
        "errors.deadletterqueue.topic.replication.factor",
        Kind.SHORT,
        3,
        "The replication factor of that topic if it has to be created.",
        group=_ERRORS,
        order=7,
        width="MEDIUM",
        display_name="Dead Letter Queue Topic Replication Factor",
    ),
    Key(
        "errors.deadletterqueue.context.headers.enable",
        Kind.BOOLEAN,
        False,
        "Whether such records carry headers that say where and why they failed.",
        group=_ERRORS,
        order=8,
        width="MEDIUM",
        display_name="Enable Error Context Headers",
    ),
)

OURS: Final = Definition(
    (
        Key(
            "headrace.runtime",
            Kind.STRING,
            None,
            "Where tasks run: in a `thread` of the worker, in a child `process`, or in a task of "
            "`spark`. Without it, where the worker says.",
            "LOW",
            lambda name, value: (
                None if value is None else one_of("thread", "process", "spark")(name, value)
            ),
            group=_OURS,
            order=1,
            width="SHORT",
            display_name="Runtime",
        ),
        Key(
            "headrace.isolation",
            Kind.STRING,
            "shared",
            "Whether tasks share a host with others (`shared`) or have one to themselves (`own`).",
            "LOW",
            one_of("shared", "own"),
            group=_OURS,
            order=2,
            width="SHORT",
            display_name="Isolation",
        ),
        Key(
            "headrace.task.restart",
            Kind.STRING,
            "never",
            "Whether a failed task is restarted automatically: `never` or `on-failure`.",
            "LOW",
            one_of("never", "on-failure"),
            group=_OURS,
            order=3,
            width="SHORT",
            display_name="Task restart",
        ),
        Key(
            "headrace.task.restart.delay.ms",
            Kind.LONG,
            1_000,
            "The delay before the first restart; each further delay is twice as long.",
            "LOW",
            at_least(0),
            group=_OURS,
            order=4,
            width="SHORT",
            display_name="Task restart delay",
        ),
        Key(
            "headrace.task.restart.delay.max.ms",
            Kind.LONG,
            300_000,
            "The longest delay before a restart.",
            "LOW",
            at_least(0),
            group=_OURS,
            order=5,
            width="SHORT",
            display_name="Maximum task restart delay",
        ),
        Key(
            "headrace.task.restart.max.per.hour",
            Kind.INT,
            20,
            "How often a task is restarted within an hour; after that it stays FAILED.",
            "LOW",
            at_least(1),
            group=_OURS,
            order=6,
            width="SHORT",
            display_name="Task restarts per hour",
        ),
    )
)
"""What Connect does not have."""

SOURCE: Final = COMMON.plus(
    Key(
        "topic.creation.groups",
        Kind.LIST,
        [],
        "Groups of topics that are created with their own settings, beside `default`.",
        "LOW",
        lambda name, value: _aliases(name, value),
        group="Topic Creation",
        order=1,
        width="LONG",
        display_name="Topic Creation Groups",
    ),
    Key(
        EXACTLY_ONCE,
        Kind.STRING,
        "requested",
        "Whether the connector must be able to write each record exactly once (`required`), or "
        "does so if it can (`requested`).",
        check=one_of("REQUIRED", "REQUESTED", ignore_case=True),
        group=_EXACTLY_ONCE,
        order=2,
        width="SHORT",
        display_name="Exactly once support",
    ),
    Key(
        BOUNDARY,
        Kind.STRING,
        "poll",
        "Where transactions end: with each `poll`, after an `interval`, or where the `connector` "
        "says.",
        check=one_of("INTERVAL", "POLL", "CONNECTOR", ignore_case=True),
        group=_EXACTLY_ONCE,
        order=3,
        width="SHORT",
        display_name="Transaction Boundary",
    ),
    Key(
        "transaction.boundary.interval.ms",
        Kind.LONG,
        None,
        "The interval between transactions; without it, offset.flush.interval.ms of the worker.",
        "LOW",
        _positive,
        group=_EXACTLY_ONCE,
        order=4,
        width="SHORT",
        display_name="Transaction boundary interval",
    ),
    Key(
        "offsets.storage.topic",
        Kind.STRING,
        None,
        "A topic for this connector's offsets, instead of the worker's.",
        "LOW",
        not_empty,
        group="offsets.topic",
        order=1,
        width="LONG",
        display_name="Offsets topic",
    ),
    *_DEAD_LETTER_KEYS,
    OURS,
)

SINK: Final = COMMON.plus(
    Key(
        TOPICS,
        Kind.LIST,
        [],
        "The topics to read.",
        "HIGH",
        distinct,
        group=_COMMON,
        order=4,
        width="LONG",
        display_name="Topics",
    ),
    Key(
        TOPICS_REGEX,
        Kind.STRING,
        "",
        "The topics to read, as a regular expression that their whole names match.",
        "HIGH",
        a_pattern,
        group=_COMMON,
        order=4,
        width="LONG",
        display_name="Topics regex",
    ),
    *_DEAD_LETTER_KEYS,
    OURS,
)
