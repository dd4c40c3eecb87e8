"""One request, as a handler sees it. Flags are read as Java reads them: what is not true is false.

Parts of paths stay percent-encoded until they are taken from here: a name may contain `/`.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from headrace.http.call import Call as HttpCall
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.worker.worker import Worker


class Call(HttpCall):
    """What a handler gets."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.worker: Worker = self.service.worker

    @property
    def name(self) -> str:
        """The connector, plugin or logger in the path."""
        return unquote(self.request.path_params["name"])

    @property
    def task(self) -> TaskId:
        """The task in the path."""
        return TaskId(self.name, self.request.path_params["task"])

    def texts(self, name: str) -> list[str]:
        """All values of a parameter of the query."""
        values: list[str] = self.request.query_params.getlist(name)
        return values

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Whether a parameter of the query says `true`."""
        values = self.texts(name)
        return values[0].lower() == "true" if values else default
