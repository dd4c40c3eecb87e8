"""How a command asks a cluster, and how what brokers refuse reads: the cause, then the remedy.

Questions and answers are those of `headrace.admin`; nothing is known here of what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from headrace.admin.client import Admin
from headrace.admin.faults import IN_ONE_REQUEST, Refused, error_of, remedy_of
from headrace.admin.views import TopicView
from headrace.cli.failures import Failure, did_you_mean
from headrace.cli.reach import reach
from headrace.cli.target import Target
from headrace.client.faults import BrokerRefused
from headrace.client.settings import client_settings
from headrace.errors import Error, HeadraceError
from headrace.wire.faults import UnencodableMessage


def connect(target: Target, *, is_strict: bool = True) -> Admin:
    """A client of these brokers; a failure with the reason if none of them can be reached.

    A setting that no client knows is a failure too; Kafka's tools are lenient about them.
    """
    settings, unknown = client_settings({**target.properties, "bootstrap.servers": target.servers})
    # Looked at first, because a client waits a while for a broker that may only be starting.
    reach(target)
    if unknown and is_strict:
        from headrace.cli.kafka import check_settings

        check_settings(target)
    return Admin(settings)


@contextmanager
def explained(subject: str = "") -> Iterator[None]:
    """Turn what the block fails with into failures; `subject` is what it works on."""
    try:
        yield
    except Failure:
        raise
    except HeadraceError as error:
        raise _failure(error, subject) from error


def _failure(error: HeadraceError, subject: str) -> Failure:
    if isinstance(error, Refused):
        return failure_of(error.error, error.said, subject)
    if isinstance(error, BrokerRefused):
        return failure_of(error.error, "", subject)
    if isinstance(error, UnencodableMessage):
        # Numbers that no request can hold.
        remedy = "use fewer replicas" if "replication" in str(error) else IN_ONE_REQUEST
        return Failure(f"the client rejects the request ({error})", remedy)
    named = error_of(error)
    return Failure(str(error), "" if named is Error.UNKNOWN_SERVER_ERROR else remedy_of(named))


def failure_of(error: Error, said: str, subject: str) -> Failure:
    """The failure for a broker's error; `said` are its words, if it gave any."""
    words = (said or error.name.replace("_", " ").lower()).rstrip(".")
    return Failure(f"{subject}: {words}" if subject else words, remedy_of(error, said))


def raise_all(failures: list[Failure]) -> None:
    """End the command with everything that failed in one line."""
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise Failure(" | ".join(map(str, failures)))


def find_topic(topics: Sequence[TopicView], name: str) -> TopicView:
    """The topic of this name, or a failure with the names that look alike."""
    for topic in topics:
        if topic.name == name:
            return topic
    raise no_such_topic(name, [topic.name for topic in topics])


def no_such_topic(name: str, known: Iterable[str]) -> Failure:
    guess = did_you_mean(name, known)
    hint = guess or f'create it with "headrace topic create {name}"'
    return Failure(f'there is no topic "{name}"', hint)
