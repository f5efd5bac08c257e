"""Pages that change nodes."""

from django.urls import path

from cluster import views

page_urlpatterns = [
    path("cluster/nodes/<path:name>/cordon", views.cordon, name="node_cordon"),
    path("cluster/nodes/<path:name>/uncordon", views.uncordon, name="node_uncordon"),
    path("cluster/maintenance", views.plan_maintenance, name="maintenance_plan"),
    path("cluster/maintenance/<uuid:window_id>/cancel", views.cancel_maintenance, name="maintenance_cancel"),
]
