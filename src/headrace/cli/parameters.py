"""How a command declares its parameters: an option in a line, several options as one value.

A parameter annotated with `Made(by)` is not an option itself: the parameters of the function `by`
stand in its place, and what it returns for them is the value.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import typer


def option(spelt: str, meaning: str, **more: Any) -> Any:
    """`option("--partition -p N", "The partition.")`: its names, how its value is called, help."""
    words = spelt.split()
    names = [word for word in words if word.startswith("-")]
    value = " ".join(words[len(names) :]) or None
    return typer.Option(*names, metavar=value, help=meaning, **more)


def argument(value: str, meaning: str | None = None, **more: Any) -> Any:
    """`argument("TOPIC", "The topic.")`."""
    return typer.Argument(metavar=value, help=meaning, **more)


class Made(NamedTuple):
    by: Callable[..., Any]


def spread_all(app: typer.Typer) -> None:
    """Let every command of the application have its options one by one."""
    for command in app.registered_commands:
        assert command.callback is not None
        command.callback = spread(command.callback)
    for group in app.registered_groups:
        assert group.typer_instance is not None
        spread_all(group.typer_instance)


def spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with options in place of what is made of them; itself if nothing is."""
    signature = inspect.signature(function, eval_str=True)
    makers: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        marks = (each for each in get_args(parameter.annotation) if isinstance(each, Made))
        if (made := next(marks, None)) is None:
            parameters.append(parameter)
            continue
        options = inspect.signature(made.by, eval_str=True).parameters
        parameters += options.values()
        makers[name] = (made.by, list(options))
    if not makers:
        return function

    def command(**given: Any) -> Any:
        values = {
            name: by(**{option: given.pop(option) for option in options})
            for name, (by, options) in makers.items()
        }
        return function(**given, **values)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command
