"""Every address of the product. Each app's `urls.py` has `api`, `pages` and, where the cluster calls in, `runtime`."""

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []
