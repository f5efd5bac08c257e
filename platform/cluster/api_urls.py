"""Addresses below `/api/v1/`."""

from django.urls import path

from cluster.api import NodeView, WindowDetail, WindowList

api_urlpatterns = [
    path("nodes/<str:name>", NodeView.as_view(), name="api-node"),
    path("maintenance", WindowList.as_view(), name="api-maintenance"),
    path("maintenance/<uuid:window_id>", WindowDetail.as_view(), name="api-maintenance-window"),
]
