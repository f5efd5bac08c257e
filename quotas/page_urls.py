"""Pages that change queues."""

from django.urls import path

from quotas import views

page_urlpatterns = [path("queues/<path:path>/quota", views.edit_quota, name="quota_edit")]
