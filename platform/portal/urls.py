"""Every address of the product. An app's `api_urls` lists what is below `/api/v1/`, its `page_urls` pages."""

from django.urls import URLPattern, URLResolver, include, path

from accounts import api_urls as accounts_api
from accounts import page_urls as accounts_pages
from cluster import api_urls as cluster_api
from cluster import page_urls as cluster_pages
from jobs import api_urls as jobs_api
from jobs import page_urls as jobs_pages
from portal import health, metrics, openapi, page_urls
from quotas import api_urls as quotas_api
from quotas import page_urls as quotas_pages

handler400 = "portal.http_errors.bad_request"
handler403 = "portal.http_errors.forbidden"
handler404 = "portal.http_errors.not_found"
handler500 = "portal.http_errors.server_error"

api_urlpatterns: list[URLPattern | URLResolver] = [
    *accounts_api.api_urlpatterns,
    *quotas_api.api_urlpatterns,
    *cluster_api.api_urlpatterns,
    *jobs_api.api_urlpatterns,
    path("version", health.version, name="api-version"),
    path("healthz", health.healthz, name="api-healthz"),
    path("readyz", health.readyz, name="api-readyz"),
    path("schema", openapi.SchemaView.as_view(), name="schema"),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include(api_urlpatterns)),
    path("api/docs", openapi.DocsView.as_view(url_name="schema"), name="docs"),
    *jobs_api.runtime_urlpatterns,
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics.scrape, name="metrics"),
    path("i18n/", include("django.conf.urls.i18n")),
    *accounts_pages.page_urlpatterns,
    *quotas_pages.page_urlpatterns,
    *cluster_pages.page_urlpatterns,
    *jobs_pages.page_urlpatterns,
    *page_urls.page_urlpatterns,
]
