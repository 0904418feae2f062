"""The log of deliveries drops old entries, but none that could still be replayed."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import pytest

from codequarry.shared.catalog.deliveries import Delivery, list_deliveries, tidy_deliveries
from codequarry.shared.catalog.repositories import put_document
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.store.factory import open_store


@pytest.fixture
def store(tmp_path):
    """Return an empty store."""
    opened = open_store(SettingsModel.model_validate({"home": tmp_path}), 4)
    yield opened
    opened.close()


def test_surplus_and_old_deliveries_are_dropped_but_no_replayable_ones(store):
    for minutes in (0, 1, 4, 9, 20, 60 * 24 * 8):
        received = (datetime.now(UTC) - timedelta(minutes=minutes)).isoformat()
        delivery = Delivery("generic", f"{minutes} min", received)
        put_document(store, delivery.key, asdict(delivery))

    def kept(most, days=7.0, least_seconds=600.0):
        tidy_deliveries(store, most, days, least_seconds)
        return [delivery.id for delivery in list_deliveries(store)]

    assert kept(10) == ["0 min", "1 min", "4 min", "9 min", "20 min"]
    assert kept(1) == ["0 min", "1 min", "4 min", "9 min"]
    assert kept(2, least_seconds=0) == ["0 min", "1 min"]
