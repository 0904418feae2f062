"""Metrics of the service beside its requests: what the catalog says, and a port of their own."""

from apiflask import APIFlask

from codequarry.search_api.backend import Backend
from codequarry.search_api.routes import CATALOG_METRICS
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.telemetry.catalog_metrics import CatalogMetrics
from codequarry.shared.telemetry.metrics_server import MetricsServer


def catalog_metrics(backend: Backend) -> CatalogMetrics:
    """Return what reads the metrics of the catalog for one application."""
    return CatalogMetrics(lambda: backend.engine().store, backend.settings.metrics.worst_repositories)


def serve_metrics(app: APIFlask, settings: SettingsModel) -> MetricsServer | None:
    """Serve metrics on their own port, where they have one; each worker process of the service may answer there."""
    if settings.metrics.port is None:
        return None
    several = settings.api.workers > 1
    return MetricsServer(settings.metrics.host, settings.metrics.port, app.extensions[CATALOG_METRICS], shared=several)
