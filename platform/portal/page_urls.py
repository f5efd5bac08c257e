"""The portal's own page."""

from django.urls import path

from portal import home

page_urlpatterns = [path("", home.show_home, name="home")]
