"""The class of tasks that stands for a Java connector."""

from __future__ import annotations

from functools import cache

from headrace.pipelines.connect.java.connector import JavaSettings, described
from headrace.pipelines.connect.java.sink import JavaSink
from headrace.pipelines.connect.java.source import JavaSource
from headrace.pipelines.connect.tasks import Task, sink, source


@cache
def tasks_of(name: str, *, is_source: bool) -> type[Task]:
    """The tasks of the Java connector `name`, declared with the version and settings it has."""
    version, definition = described(name)
    called = name.rpartition(".")[2]

    class Settings(JavaSettings):
        pass

    Settings.definition = definition
    if is_source:
        made = type(called, (JavaSource,), {"java_name": name})
        return source(name, version=version, settings=Settings)(made)
    made_sink = type(called, (JavaSink,), {"java_name": name})
    return sink(name, version=version, settings=Settings)(made_sink)
