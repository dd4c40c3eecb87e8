"""Options in a line, and several options as one parameter."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.testing import CliRunner

from headrace.cli.options import MADE
from headrace.cli.parameters import Made, argument, option, spread, spread_all

Host = Annotated[str, option("--host -h NAME", "The host.")]
Port = Annotated[int, option("--port", "The port.", min=1)]


def place(host: Host = "here", port: Port = 9092) -> str:
    return f"{host}:{port}"


def show(
    name: Annotated[str, argument("NAME")],
    where: Annotated[str, Made(place)] = MADE,
    loud: Annotated[bool, option("--loud", "In capitals.")] = False,
) -> None:
    """Say where somebody is."""
    text = f"{name} at {where}"
    typer.echo(text.upper() if loud else text)


def test_a_value_is_made_of_its_options() -> None:
    """They stand in its place, with their defaults and limits."""
    app = typer.Typer(rich_markup_mode=None)
    app.command()(show)
    spread_all(app)
    runner = CliRunner()
    assert runner.invoke(app, ["ann"]).output == "ann at here:9092\n"
    assert runner.invoke(app, ["ann", "-h", "b", "--port", "1", "--loud"]).output == "ANN AT B:1\n"
    assert runner.invoke(app, ["ann", "--port", "0"]).exit_code == 2
    text = runner.invoke(app, ["--help"]).output
    assert text.index("--host") < text.index("--port") < text.index("--loud")
    assert "NAME" in text
    assert "Say where somebody is." in text
    assert "--where" not in text


def test_a_function_of_plain_options_stays_as_it_is() -> None:
    """Nothing is put around it."""
    assert spread(place) is place
