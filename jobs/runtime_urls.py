"""The addresses that the cluster's side calls; `ray_runtime.protocol` is their law."""

from django.urls import URLPattern, URLResolver, path

from jobs import runtime_api as api
from ray_runtime import protocol


def _route(template: str) -> str:
    """A path of the protocol as Django writes it."""
    return template.lstrip("/").replace("{attempt_id}", "<uuid:attempt_id>").replace("{name}", "<str:name>")


urlpatterns: list[URLPattern | URLResolver] = [
    path(_route(protocol.EPOCH_PATH), api.epoch, name="runtime-epoch"),
    path(_route(protocol.ORDERS_PATH), api.orders, name="runtime-orders"),
    path(_route(protocol.REPORTS_PATH), api.reports, name="runtime-reports"),
    path(_route(protocol.INVENTORY_PATH), api.inventory, name="runtime-inventory"),
    path(_route(protocol.STREAM_PATH), api.stream, name="runtime-stream"),
    path(_route(protocol.OUTPUT_PATH), api.output, name="runtime-output"),
    path(_route(protocol.CODE_PATH), api.code, name="runtime-code"),
]
