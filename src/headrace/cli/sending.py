"""Records on their way to a topic: sent, counted when they are there, told when they are not.

`Sending` sends them one by one; `TransactionalSending` makes all of them, or so many at a time,
visible together.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.failures import Failure
from headrace.cli.kafka import TIMEOUT_S, explain
from headrace.cli.lines import counted
from headrace.cli.output import Output, emit
from headrace.cli.progress import Progress
from headrace.cli.record_json import Draft
from headrace.cli.target import Target

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

_FLUSH_S: Final = 60.0
_SHOWN_ERRORS: Final = 3


class Sending:
    """One run of the producer: what arrived and what did not."""

    def __init__(self, producer: Producer, target: Target, topic: str) -> None:
        self._producer = producer
        self._target = target
        self._topic = topic
        self._began = time.monotonic()
        self.errors: dict[int, KafkaError] = {}
        self._written = 0
        self._failed = 0

    def send_all(self, drafts: Iterator[Draft], progress: Progress) -> None:
        """Send everything and wait for the answers; a bad line does not lose those before it."""
        try:
            for count, draft in enumerate(drafts, 1):
                self.send(draft)
                if not count & 1023:
                    self._producer.poll(0)
                    progress.update(self._written)
        finally:
            # On its own line: the callbacks that `flush` runs count failures themselves.
            unanswered = self._producer.flush(_FLUSH_S)
            self._failed += unanswered

    def send(self, draft: Draft) -> None:
        """Put a record on its way; what cannot be is counted with what does not arrive."""
        from confluent_kafka import KafkaException

        options: dict[str, Any] = {"on_delivery": self._on_delivery}
        if draft.headers:
            options["headers"] = draft.headers
        if draft.partition is not None:
            options["partition"] = draft.partition
        if draft.timestamp_ms is not None:
            options["timestamp"] = draft.timestamp_ms
        while True:
            try:
                self._producer.produce(self._topic, draft.value, draft.key, **options)
                return
            except BufferError:
                # The queue is full: wait until some of it has been delivered.
                self._producer.poll(0.1)
            except KafkaException as error:
                self._count_failure(error.args[0])
                return
            except OverflowError:
                raise Failure(
                    f"partition {draft.partition} or timestamp {draft.timestamp_ms} is too large",
                    f'see "headrace topic describe {self._topic}" for the partitions',
                ) from None

    def _on_delivery(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self._written += 1
        else:
            self._count_failure(error)

    def _count_failure(self, error: KafkaError) -> None:
        self._failed += 1
        self.errors.setdefault(error.code(), error)

    def report(self, output: Output) -> int:
        """Tell what happened; returns the exit code of the command."""
        seconds = time.monotonic() - self._began
        if output is Output.TABLE:
            rate = self._written / seconds if seconds else 0.0
            line = f"{counted(self._written, 'record')} written to {self._topic} in {seconds:.2f} s"
            print(f"{line} ({rate:,.0f}/s), {self._failed} failed", file=sys.stderr)
        else:
            summary = {
                "topic": self._topic,
                "written": self._written,
                "failed": self._failed,
                "seconds": round(seconds, 3),
            }
            emit(summary, output, str)
        for error in list(self.errors.values())[:_SHOWN_ERRORS]:
            print(f"headrace: {explain(error, self._target)}", file=sys.stderr)
        return 1 if self._failed else 0


class TransactionalSending(Sending):
    """The same in transactions of `size` records, or in one of all."""

    def __init__(
        self,
        producer: Producer,
        target: Target,
        topic: str,
        *,
        transactional_id: str,
        size: int | None,
    ) -> None:
        super().__init__(producer, target, topic)
        self._transactional_id = transactional_id
        self._size = size
        self._transactions = 0
        self._committed = 0

    def send_all(self, drafts: Iterator[Draft], progress: Progress) -> None:
        """Send and commit; what a bad line, a failed record or Ctrl-C leaves open is aborted."""
        self._call(self._producer.init_transactions, TIMEOUT_S * 2)
        for first in drafts:
            # The first record is awaited outside: no transaction is open while nothing is there.
            self._call(self._producer.begin_transaction)
            rest = drafts if self._size is None else islice(drafts, self._size - 1)
            try:
                self._send_one_transaction(chain([first], rest), progress)
            except BaseException:
                self._abort()
                raise

    def _send_one_transaction(self, drafts: Iterator[Draft], progress: Progress) -> None:
        super().send_all(drafts, progress)
        for error in self.errors.values():
            raise self._explain(error)
        self._call(self._producer.commit_transaction, _FLUSH_S)
        self._transactions += 1
        self._committed = self._written

    def _abort(self) -> None:
        from confluent_kafka import KafkaException

        try:
            self._producer.abort_transaction(TIMEOUT_S)
        except KafkaException:
            pass  # The coordinator aborts it: a fenced producer's at once, others' in time.

    def _call(self, step: Callable[..., None], *arguments: float) -> None:
        """One step of the transaction's life; what may be tried again is, for a while."""
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + _FLUSH_S
        while True:
            try:
                step(*arguments)
                return
            except KafkaException as failure:
                error = failure.args[0]
                if not error.retriable() or time.monotonic() > deadline:
                    raise self._explain(error) from failure

    def _explain(self, error: KafkaError) -> Failure:
        from confluent_kafka import KafkaError

        fenced = (
            KafkaError._FENCED,
            KafkaError.PRODUCER_FENCED,
            KafkaError.INVALID_PRODUCER_EPOCH,
        )
        if error.code() in fenced:
            return Failure(
                f'transactional id "{self._transactional_id}" was taken over, or its transaction '
                "ran out of time",
                "give each producer an id of its own, use --transaction-size, or raise "
                "-X transaction.timeout.ms",
            )
        return explain(error, self._target, f'transactional id "{self._transactional_id}"')

    def report(self, output: Output) -> int:
        """Tell what was committed; what was sent and not committed is gone."""
        seconds = time.monotonic() - self._began
        aborted = self._written + self._failed - self._committed
        if output is Output.TABLE:
            line = f"{counted(self._committed, 'record')} committed to {self._topic} in "
            line += (
                f"{counted(self._transactions, 'transaction')}, {aborted} aborted, {seconds:.2f} s"
            )
            print(line, file=sys.stderr)
        else:
            summary = {
                "topic": self._topic,
                "committed": self._committed,
                "transactions": self._transactions,
                "aborted": aborted,
                "seconds": round(seconds, 3),
            }
            emit(summary, output, str)
        return 1 if self._failed else 0
