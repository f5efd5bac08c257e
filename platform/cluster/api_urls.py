"""Addresses below `/api/v1/`."""

from django.urls import path

from cluster.api import NodeView

api_urlpatterns = [path("nodes/<str:name>", NodeView.as_view(), name="api-node")]
