"""Invoices and their payment."""

import decimal
from collections.abc import Iterable

from acme.gateway import Gateway
from acme.gateway import charge as charge_card

from .errors import PaymentFailed

FEE = decimal.Decimal("0.30")
_RETRIES = 3


class Document:
    """Anything with a number."""


class Invoice(Document):
    """An invoice of one customer.

    It is paid once.
    """

    currency = "EUR"

    def __init__(self, total: decimal.Decimal, gateway: Gateway) -> None:
        self.total = total
        self.gateway = gateway
        self.paid = False

    @property
    def is_open(self) -> bool:
        return not self.paid

    # Comments right above belong to the method.
    def pay(
        self,
        card: str,
        *,
        retries: int = _RETRIES,
    ) -> bool:
        # The gateway answers at most once.
        for attempt in range(retries):
            try:
                charge_card(self.gateway, card, apply_fee(self.total))
            except PaymentFailed:
                if attempt == retries - 1 or not self.is_open:
                    raise
            else:
                self.paid = True
        return self.paid


async def settle(invoices: Iterable[Invoice], card: str) -> int:
    """Pay all open invoices and return how many were paid."""
    count = 0
    for invoice in invoices:
        if invoice.is_open and invoice.pay(card):
            count += 1
    return count


def apply_fee(total: decimal.Decimal) -> decimal.Decimal:
    import math

    fee = max(FEE, total / 100)
    if math.isnan(fee):
        return total
    return total + fee
