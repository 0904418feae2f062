"""`codequarry deliveries`: what code hosts told the service, and what became of it."""

from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.console import note, write_json, write_table
from codequarry.cli.invocation import Json, load, workplace

if TYPE_CHECKING:
    from codequarry.shared.triggers.deliveries import Delivery

DEFAULT_LIMIT = 50


def deliveries(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Most deliveries to list.")] = DEFAULT_LIMIT,
    as_json: Json = False,
) -> None:
    """List the webhook deliveries that came, the latest first, and what became of each."""
    from codequarry.shared.triggers.deliveries import list_deliveries

    with workplace(load(context).settings) as place:
        found = list_deliveries(place.store)[:limit]
    if as_json:
        write_json({"deliveries": [one.to_json() for one in found]})
    elif not found:
        note("no webhook was heard of yet")
    else:
        write_table([_row(one) for one in found])


def _row(one: "Delivery") -> tuple[object, ...]:
    again = f"again {one.repeats} times" if one.repeats else ""
    return one.received_at[:19], one.provider, one.event, one.repo, one.ref, one.result, one.job or one.reason, again
