"""Any Python function as a transform: of a record, or of a batch.

    @transform("acme.Upper")
    def upper(record, field: str, max_length: int = 80):
        return record.replace(**{field: record[field].upper()[:max_length]})

What follows the record in the signature is set in the connector's configuration, `max_length` as
`max.length`. Annotations say the kinds; what has a default need not be set. A record that the
function returns goes on, None drops it; a function of a batch returns a batch, several, or None.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from headrace.pipelines.connect.config.definition import REQUIRED, Definition, Key, Kind, Password
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model.batch import Batch, of_records
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.transforms.transform import Transform

_KINDS: Final[Mapping[object, Kind]] = {
    str: Kind.STRING,
    int: Kind.LONG,
    float: Kind.DOUBLE,
    bool: Kind.BOOLEAN,
    list: Kind.LIST,
    Password: Kind.PASSWORD,
}
_ATTRIBUTE: Final = "__headrace_transform__"
_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class FunctionTransform:
    """A function as it was declared."""

    name: str
    doc: str
    function: Callable[..., object]
    definition: Definition
    parameters: Mapping[str, str]
    of_batch: bool

    def build(self, given: Mapping[str, object]) -> Transform:
        """The transform with its settings; ConfigException for the first that is wrong."""
        read = self.definition.read(given)
        settings = {parameter: read[key] for parameter, key in self.parameters.items()}
        return (_OfBatch if self.of_batch else _OfRecord)(self.name, self.function, settings)


def transform(name: str, *, batch: bool = False) -> Callable[[_Function], _Function]:
    """Declare a function as the transform that configurations name `name`."""

    def declare(function: _Function) -> _Function:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        hints = get_type_hints(function)
        keys = {each.name: _key(function, each, hints) for each in parameters}
        declared = FunctionTransform(
            name,
            inspect.getdoc(function) or "",
            function,
            Definition(tuple(keys.values())),
            {parameter: key.name for parameter, key in keys.items()},
            batch,
        )
        setattr(function, _ATTRIBUTE, declared)
        return function

    return declare


def transform_of(function: Callable[..., object]) -> FunctionTransform:
    """What was declared of a function."""
    declared = getattr(function, _ATTRIBUTE, None)
    if isinstance(declared, FunctionTransform):
        return declared
    raise TypeError(f"{function!r} is not a transform: put @transform(...) before it")


def _key(
    function: Callable[..., object], parameter: inspect.Parameter, hints: Mapping[str, object]
) -> Key:
    hint = hints.get(parameter.name, str)
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    kind = _KINDS.get(get_origin(hint) or hint)
    if kind is None or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        offered = "str, int, float, bool, list[str] or Password"
        raise TypeError(
            f"{function.__qualname__}: the setting {parameter.name} must be annotated as {offered}"
        )
    default = REQUIRED if parameter.default is parameter.empty else parameter.default
    return Key(parameter.name.replace("_", "."), kind, default)


class _OfRecord(Transform):
    def __init__(
        self, name: str, function: Callable[..., object], settings: Mapping[str, object]
    ) -> None:
        self._name, self._function, self._settings = name, function, settings

    def apply(self, record: Record) -> Record | None:
        made = self._function(record, **self._settings)
        if made is None or isinstance(made, Record):
            return made
        raise ConnectException(
            f"{self._name} returned {type(made).__name__}: "
            "return the record as it goes on, or None to drop it"
        )


class _OfBatch(Transform):
    def __init__(
        self, name: str, function: Callable[..., object], settings: Mapping[str, object]
    ) -> None:
        self._name, self._function, self._settings = name, function, settings

    def apply(self, record: Record) -> Record | None:
        made = [
            each
            for batch in of_records([record])
            for given in self.apply_batch(batch)
            for each in given.records()
        ]
        if len(made) > 1:
            raise ConnectException(
                f"{self._name} made {len(made)} records of one: a transform keeps or drops records"
            )
        return made[0] if made else None

    def apply_batch(self, batch: Batch) -> Sequence[Batch]:
        made = self._function(batch, **self._settings)
        if made is None:
            return []
        if isinstance(made, Batch):
            return [made]
        if isinstance(made, list | tuple) and all(isinstance(each, Batch) for each in made):
            return list(made)
        raise ConnectException(
            f"{self._name} returned {type(made).__name__}: "
            "return the batch as it goes on, a list of batches, or None to drop it"
        )
