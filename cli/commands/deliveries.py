"""`codequarry deliveries`: what code hosts told the service, and what became of it."""

from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import note, write_answer, write_table

if TYPE_CHECKING:
    from codequarry.shared.catalog.deliveries import Delivery

DEFAULT_LIMIT = 50


def deliveries(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Most deliveries to list.")] = DEFAULT_LIMIT,
    as_json: Json = False,
) -> None:
    """List the webhook deliveries that came, the latest first, and what became of each."""
    from codequarry.shared.catalog.deliveries import list_deliveries

    with workplace(load(context).settings) as place:
        found = list_deliveries(place.store)[:limit]
    if as_json:
        from codequarry.search_api.answers.deliveries import Deliveries, delivery_status

        write_answer(Deliveries(tuple(map(delivery_status, found))))
    elif not found:
        note("no webhook was heard of yet")
    else:
        write_table([_row(one) for one in found])


def _row(one: "Delivery") -> tuple[object, ...]:
    again = f"again {one.repeats} times" if one.repeats else ""
    return one.received_at[:19], one.provider, one.event, one.repo, one.ref, one.result, one.job or one.reason, again
