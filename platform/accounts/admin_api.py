"""The REST face of managing: teams and their members, users, the audit."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import AuditEntry, Membership, Role, Team, User
from accounts.permissions import require_platform_admin
from accounts.requests import client_address, reader_of
from accounts.selectors import (
    all_users,
    audit_entries,
    members_of,
    team_by_slug,
    teams_of,
    user_by_name,
)
from accounts.serializers import (
    AuditSerializer,
    MemberSerializer,
    NewTeamSerializer,
    NewUserSerializer,
    TeamSerializer,
    UserChangeSerializer,
    UserSerializer,
)
from accounts.services import (
    create_team,
    create_user,
    remove_membership,
    set_active,
    set_membership,
    set_password,
    set_platform_admin,
)


class TeamsView(generics.ListAPIView[Team]):
    """`teams`: those that the reader may see."""

    serializer_class = TeamSerializer
    queryset = Team.objects.none()
    ordering = ("slug",)

    def get_queryset(self) -> QuerySet[Team]:
        """The reader's; all of them for a platform admin."""
        return teams_of(reader_of(self.request))

    @extend_schema(request=NewTeamSerializer, responses={201: TeamSerializer})
    def post(self, request: Request) -> Response:
        """Make a team; for platform admins."""
        asked = NewTeamSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        team = create_team(actor=reader_of(request), **asked.validated_data, **_when_and_where(request))
        answer = TeamSerializer(team, context=self.get_serializer_context())
        return Response(answer.data, status=status.HTTP_201_CREATED)


class MembersView(generics.ListAPIView[Membership]):
    """`teams/{slug}/members`."""

    serializer_class = MemberSerializer
    queryset = Membership.objects.none()
    ordering = ("user__username",)

    def get_queryset(self) -> QuerySet[Membership]:
        """Everyone in a team that the reader may see."""
        return members_of(team_by_slug(reader_of(self.request), self.kwargs["slug"]))


class MemberView(APIView):
    """`teams/{slug}/members/{username}`; for the team's admins."""

    @extend_schema(request=MemberSerializer, responses=MemberSerializer)
    def put(self, request: Request, slug: str, username: str) -> Response:
        """Put the user into the team, or give them another role."""
        asked = MemberSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        membership = set_membership(
            team=team_by_slug(reader_of(request), slug),
            user=user_by_name(username),
            role=Role(asked.validated_data["role"]),
            actor=reader_of(request),
            **_when_and_where(request),
        )
        return Response(MemberSerializer(membership).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, username: str) -> Response:
        """Take the user out of the team; their jobs stay the team's."""
        remove_membership(
            team=team_by_slug(reader_of(request), slug),
            user=user_by_name(username),
            actor=reader_of(request),
            **_when_and_where(request),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)


class UsersView(generics.ListAPIView[User]):
    """`users`; for platform admins."""

    serializer_class = UserSerializer
    queryset = User.objects.none()
    ordering = ("username",)

    def get_queryset(self) -> QuerySet[User]:
        """Everyone."""
        return all_users(reader_of(self.request)).prefetch_related("memberships__team")

    @extend_schema(request=NewUserSerializer, responses={201: UserSerializer})
    def post(self, request: Request) -> Response:
        """Make a user who can log in at once."""
        asked = NewUserSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        user = create_user(actor=reader_of(request), **asked.validated_data, **_when_and_where(request))
        return Response(UserSerializer(user).data, status=status.HTTP_201_CREATED)


class UserView(APIView):
    """`users/{username}`; for platform admins."""

    @extend_schema(responses=UserSerializer)
    def get(self, request: Request, username: str) -> Response:
        """One user."""
        require_platform_admin(reader_of(request))
        return Response(UserSerializer(user_by_name(username)).data)

    @extend_schema(request=UserChangeSerializer, responses=UserSerializer)
    def patch(self, request: Request, username: str) -> Response:
        """Switch the account off or on, give another password, give or take platform admin's rights."""
        require_platform_admin(reader_of(request))
        asked = UserChangeSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        user = user_by_name(username)
        _change_user(user, asked.validated_data, request)
        return Response(UserSerializer(user).data)


class AuditView(generics.ListAPIView[AuditEntry]):
    """`audit`: one team's with `?team=` for its admins, everything for platform admins."""

    serializer_class = AuditSerializer
    queryset = AuditEntry.objects.none()
    ordering = ("-id",)

    def get_queryset(self) -> QuerySet[AuditEntry]:
        """Newest first."""
        reader, slug = reader_of(self.request), self.request.query_params.get("team")
        team = team_by_slug(reader, slug) if slug else None
        return audit_entries(reader, team=team)


def _change_user(user: User, changes: dict[str, Any], request: Request) -> None:
    """Apply every change or none."""
    common = {"user": user, "actor": reader_of(request), **_when_and_where(request)}
    with transaction.atomic():
        if "password" in changes:
            set_password(password=changes["password"], **common)
        if "is_active" in changes:
            set_active(is_active=changes["is_active"], **common)
        if "is_platform_admin" in changes:
            set_platform_admin(is_platform_admin=changes["is_platform_admin"], **common)


def _when_and_where(request: Request) -> dict[str, Any]:
    return {"address": client_address(request), "now": timezone.now()}
