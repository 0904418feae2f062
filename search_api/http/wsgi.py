"""The application for WSGI servers (``gunicorn codequarry.search_api.http.wsgi:app``), created on first use."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apiflask import APIFlask

_apps: list["APIFlask"] = []


def __getattr__(name: str) -> "APIFlask":
    if name != "app":
        raise AttributeError(name)
    if not _apps:
        from codequarry.shared.processors import use_one_blas_thread

        use_one_blas_thread()
        from codequarry.search_api.http.app import create_app
        from codequarry.search_api.http.catalog_metrics import serve_metrics
        from codequarry.shared.settings.config import load_settings
        from codequarry.shared.telemetry.logs import configure_logs

        configure_logs()
        settings = load_settings().settings
        _apps.append(create_app(settings))
        serve_metrics(_apps[0], settings)
    return _apps[0]
