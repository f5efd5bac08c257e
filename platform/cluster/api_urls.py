"""Addresses below `/api/v1/`."""

from django.urls import path

from cluster.api import CordonView, NodeView, UncordonView

api_urlpatterns = [
    path("nodes/<str:name>/cordon", CordonView.as_view(), name="api-node-cordon"),
    path("nodes/<str:name>/uncordon", UncordonView.as_view(), name="api-node-uncordon"),
    path("nodes/<str:name>", NodeView.as_view(), name="api-node"),
]
