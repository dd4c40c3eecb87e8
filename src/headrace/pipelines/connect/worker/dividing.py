"""A connector's work divided into tasks, by its own class.

Settings keep their references to config providers (`${file:…}`): what a task has of its connector
unchanged is written as the connector has it, and no secret comes into the config topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.pipelines.connect import plugins
from headrace.pipelines.connect.config import connector as keys
from headrace.pipelines.connect.config.providers import Provider, resolved
from headrace.pipelines.connect.state.records import Settings
from headrace.pipelines.connect.tasks import connector_of

TASK_CLASS: Final = "task.class"
_CONNECTOR: Final = "Connector"


def divided(config: Settings, providers: Mapping[str, Provider]) -> list[dict[str, str]]:
    """The settings of each task, as the config topic has them."""
    values = resolved(config, providers)
    listed = plugins.find(str(keys.COMMON.read(values)[keys.CLASS]))
    kind = listed.load()
    common = (keys.SOURCE if listed.kind == "source" else keys.SINK).read(values)
    own = connector_of(kind).settings.of(values)
    most = int(str(common[keys.TASKS_MAX]))
    return [
        {
            **_referring({**values, **each}, config, values),
            TASK_CLASS: each.get(TASK_CLASS) or task_class(listed.name),
        }
        for each in kind.task_configs(own, most)
    ]


def task_class(connector: str) -> str:
    """The name under which a connector's tasks are known; Kafka's workers need one."""
    if connector.endswith(_CONNECTOR):
        return connector.removesuffix(_CONNECTOR) + "Task"
    return connector


def _referring(
    task: Mapping[str, str], config: Settings, values: Mapping[str, str]
) -> dict[str, str]:
    return {
        key: config[key] if key in config and values[key] == value else value
        for key, value in task.items()
    }
