"""Users, teams, tokens and the audit as JSON."""

from typing import Any

from rest_framework import serializers

from accounts.models import ApiToken, AuditEntry, Membership, Role, Team, User
from accounts.requests import reader_of
from accounts.selectors import role_of


class MembershipOfUserSerializer(serializers.ModelSerializer[Membership]):
    """One of a user's teams."""

    slug = serializers.CharField(source="team.slug")
    display_name = serializers.CharField(source="team.display_name")

    class Meta:
        model = Membership
        fields = ("slug", "display_name", "role")


class MeSerializer(serializers.ModelSerializer[User]):
    """Who is asking."""

    teams = MembershipOfUserSerializer(source="memberships", many=True, read_only=True)

    class Meta:
        model = User
        fields = ("id", "username", "display_name", "is_platform_admin", "language", "time_zone", "teams")


class ProfileSerializer(serializers.Serializer[Any]):
    """What users change about themselves."""

    display_name = serializers.CharField(required=False, allow_blank=True, max_length=120)
    language = serializers.CharField(required=False, allow_blank=True, max_length=16)
    time_zone = serializers.CharField(required=False, allow_blank=True, max_length=64)


class PasswordSerializer(serializers.Serializer[Any]):
    """One's own password, changed."""

    current = serializers.CharField(trim_whitespace=False, max_length=1000)
    new = serializers.CharField(trim_whitespace=False, max_length=1000)


class LoginSerializer(serializers.Serializer[Any]):
    """Name and password for a token."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(trim_whitespace=False, max_length=1000)
    token_name = serializers.CharField(max_length=120, default="login")


class TokenSerializer(serializers.ModelSerializer[ApiToken]):
    """A token without its secret."""

    class Meta:
        model = ApiToken
        fields = ("id", "name", "prefix", "created_at", "expires_at", "last_used_at")


class NewTokenSerializer(serializers.Serializer[Any]):
    """A token to be made."""

    name = serializers.CharField(max_length=120)
    expires_at = serializers.DateTimeField(required=False, allow_null=True, default=None)


class SecretSerializer(TokenSerializer):
    """A token with its secret: the only time that it is shown."""

    token = serializers.CharField(read_only=True)

    class Meta:
        model = ApiToken
        fields = ("token", "id", "name", "prefix", "created_at", "expires_at", "last_used_at")


class TeamSerializer(serializers.ModelSerializer[Team]):
    """A team, and the reader's role in it."""

    role = serializers.SerializerMethodField()

    class Meta:
        model = Team
        fields = ("slug", "display_name", "role")

    def get_role(self, team: Team) -> Role | None:
        """As `accounts.selectors.role_of` has it."""
        return role_of(reader_of(self.context["request"]), team)


class NewTeamSerializer(serializers.Serializer[Any]):
    """A team to be made."""

    slug = serializers.CharField(max_length=60)
    display_name = serializers.CharField(max_length=120)


class MemberSerializer(serializers.ModelSerializer[Membership]):
    """Somebody in a team."""

    username = serializers.CharField(source="user.username", read_only=True)
    display_name = serializers.CharField(source="user.display_name", read_only=True)

    class Meta:
        model = Membership
        fields = ("username", "display_name", "role")


class UserSerializer(serializers.ModelSerializer[User]):
    """A user as platform admins see them."""

    teams = MembershipOfUserSerializer(source="memberships", many=True, read_only=True)

    class Meta:
        model = User
        fields = (
            "id",
            "username",
            "display_name",
            "email",
            "is_active",
            "is_platform_admin",
            "date_joined",
            "teams",
        )


class NewUserSerializer(serializers.Serializer[Any]):
    """A user to be made; names and passwords are checked by the service."""

    username = serializers.CharField(max_length=150)
    password = serializers.CharField(trim_whitespace=False, max_length=1000)
    display_name = serializers.CharField(required=False, allow_blank=True, default="", max_length=120)
    email = serializers.EmailField(required=False, allow_blank=True, default="")
    is_platform_admin = serializers.BooleanField(default=False)


class UserChangeSerializer(serializers.Serializer[Any]):
    """What admins change about a user; keys that are left out stay as they are."""

    is_active = serializers.BooleanField(required=False)
    is_platform_admin = serializers.BooleanField(required=False)
    password = serializers.CharField(required=False, trim_whitespace=False, max_length=1000)


class AuditSerializer(serializers.ModelSerializer[AuditEntry]):
    """One sensitive act."""

    actor = serializers.CharField(source="actor.username", default=None)
    team = serializers.CharField(source="team.slug", default=None)

    class Meta:
        model = AuditEntry
        fields = ("id", "at", "actor", "action", "object_kind", "object_id", "team", "data", "address")
