"""Every address of the product. An app lists its `api_urlpatterns` and `page_urlpatterns`, `jobs` also those
that the cluster calls: `runtime_urlpatterns`.
"""

import logging
from importlib import import_module
from importlib.util import find_spec

from django.urls import URLPattern, URLResolver, include, path

from portal import health, metrics, openapi

APPS = ("accounts", "eventlog", "artifacts", "telemetry", "quotas", "cluster", "jobs")


def _of_apps(kind: str) -> list[URLPattern | URLResolver]:
    found: list[URLPattern | URLResolver] = []
    for app in (*APPS, "portal"):
        for module in ("api_urls", "page_urls") if app == "portal" else ("urls", "api_urls", "page_urls"):
            if find_spec(f"{app}.{module}"):
                try:
                    found += getattr(import_module(f"{app}.{module}"), kind, [])
                except ImportError as error:
                    logging.getLogger(__name__).warning("%s.%s: %s", app, module, error)
    return found


handler400 = "portal.http_errors.bad_request"
handler403 = "portal.http_errors.forbidden"
handler404 = "portal.http_errors.not_found"
handler500 = "portal.http_errors.server_error"

api_urlpatterns: list[URLPattern | URLResolver] = [
    *_of_apps("api_urlpatterns"),
    path("version", health.version, name="api-version"),
    path("healthz", health.healthz, name="api-healthz"),
    path("readyz", health.readyz, name="api-readyz"),
    path("schema", openapi.SchemaView.as_view(), name="schema"),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include(api_urlpatterns)),
    path("api/docs", openapi.DocsView.as_view(url_name="schema"), name="docs"),
    *_of_apps("runtime_urlpatterns"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics.scrape, name="metrics"),
    path("i18n/", include("django.conf.urls.i18n")),
    *_of_apps("page_urlpatterns"),
]
