"""One request to the proxy, as a handler sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.http.call import Call as HttpCall
from headrace.rest import errors
from headrace.rest.names import is_topic_name

if TYPE_CHECKING:
    from headrace.rest.context import Proxy
    from headrace.rest.service import RestService


class Call(HttpCall):
    """What a handler gets."""

    service: RestService

    @property
    def proxy(self) -> Proxy:
        return self.service.proxy

    @property
    def topic(self) -> str:
        """The topic in the path; a name that no topic can have is not found."""
        name: str = self.path("topic_name")
        if not is_topic_name(name):
            raise errors.topic_not_found()
        return name

    @property
    def partition(self) -> int:
        """The partition in the path; what is no such number is not found."""
        text: str = self.path("partition_id")
        if not text.isascii() or not text.isdecimal() or int(text) > 0x7FFFFFFF:
            raise errors.partition_not_found()
        return int(text)
