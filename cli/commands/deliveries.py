"""`codequarry deliveries`: the webhook deliveries that the service received, and their outcome."""

from typing import TYPE_CHECKING, Annotated

import typer

from codequarry.cli.session.session import Json, load, workplace
from codequarry.cli.terminal.console import note, write_answer, write_table

if TYPE_CHECKING:
    from codequarry.shared.catalog.deliveries import Delivery

DEFAULT_LIMIT = 50


def deliveries(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="List at most N deliveries.")] = DEFAULT_LIMIT,
    as_json: Json = False,
) -> None:
    """List webhook deliveries and their outcomes, latest first."""
    from codequarry.shared.catalog.deliveries import list_deliveries

    with workplace(load(context).settings) as place:
        found = list_deliveries(place.store)[:limit]
    if as_json:
        from codequarry.search_api.answers.deliveries import Deliveries, delivery_status

        write_answer(Deliveries(tuple(map(delivery_status, found))))
    elif not found:
        note("no webhook delivery has arrived yet")
    else:
        write_table([_row(delivery) for delivery in found])


def _row(entry: "Delivery") -> tuple[object, ...]:
    outcome = entry.result, entry.job or entry.reason, f"repeated {entry.repeats} times" if entry.repeats else ""
    return entry.received_at[:19], entry.provider, entry.event, entry.repo, entry.ref, *outcome
