"""Pages that change nodes."""

from django.urls import path

from cluster import views

page_urlpatterns = [
    path("cluster/nodes/<path:name>/cordon", views.cordon, name="node_cordon"),
    path("cluster/nodes/<path:name>/uncordon", views.uncordon, name="node_uncordon"),
]
