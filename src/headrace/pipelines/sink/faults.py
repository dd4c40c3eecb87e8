"""What a sink refuses, each with the cause and a remedy in its text."""

from __future__ import annotations

from headrace.errors import HeadraceError


class WrongColumns(HeadraceError):
    """The columns of a DataFrame are not what a topic can hold; nothing was written."""


class WrongRow(HeadraceError):
    """One row cannot be written as it is; the text names it."""


class NotRepeated(HeadraceError):
    """A batch that was written before came again with other rows; going on would lose some."""


class NoTransactions(HeadraceError):
    """The cluster does not let this sink write exactly once."""


class NoQuery(NoTransactions):
    """It is not known which query a write belongs to, so it cannot be written exactly once."""
