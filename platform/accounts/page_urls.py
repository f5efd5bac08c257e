"""Pages about oneself, at the root of the portal."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from accounts import views

page_urlpatterns = [
    path("login", views.LogIn.as_view(), name="login"),
    path("logout", LogoutView.as_view(), name="logout"),
    path("preferences", views.change_preferences, name="preferences"),
    path("profile", views.show_profile, name="profile"),
    path("profile/save", views.save_profile, name="profile_save"),
    path("profile/password", views.save_password, name="profile_password"),
    path("profile/tokens", views.make_token, name="token_make"),
    path("profile/tokens/<uuid:token_id>/revoke", views.drop_token, name="token_drop"),
]
