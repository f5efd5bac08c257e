"""Addresses below `/api/v1/`."""

from django.urls import path

from accounts import admin_api, api

api_urlpatterns = [
    path("login", api.LoginView.as_view(), name="api-login"),
    path("me", api.MeView.as_view(), name="api-me"),
    path("me/password", api.MyPasswordView.as_view(), name="api-my-password"),
    path("tokens", api.TokensView.as_view(), name="api-tokens"),
    path("tokens/<uuid:token_id>", api.TokenView.as_view(), name="api-token"),
    path("teams", admin_api.TeamsView.as_view(), name="api-teams"),
    path("teams/<str:slug>/members", admin_api.MembersView.as_view(), name="api-members"),
    path("teams/<str:slug>/members/<str:username>", admin_api.MemberView.as_view(), name="api-member"),
    path("users", admin_api.UsersView.as_view(), name="api-users"),
    path("users/<str:username>", admin_api.UserView.as_view(), name="api-user"),
    path("audit", admin_api.AuditView.as_view(), name="api-audit"),
]
