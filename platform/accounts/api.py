"""The REST face of oneself: login, me, tokens."""

from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import ApiToken
from accounts.requests import client_address, reader_of
from accounts.selectors import tokens_of
from accounts.serializers import (
    LoginSerializer,
    MeSerializer,
    NewTokenSerializer,
    PasswordSerializer,
    ProfileSerializer,
    SecretSerializer,
    TokenSerializer,
)
from accounts.services import change_password, change_profile, create_token, log_in, revoke_token


class LoginView(APIView):
    """`POST login`: name and password for a token, as the command line does."""

    # No session may speak for the caller here, so no CSRF token is needed either.
    authentication_classes = ()
    permission_classes = (AllowAny,)

    @extend_schema(request=LoginSerializer, responses={201: SecretSerializer}, auth=[])
    def post(self, request: Request) -> Response:
        """Make a token that lives 90 days."""
        asked = LoginSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        token, secret = log_in(**asked.validated_data, address=client_address(request), now=timezone.now())
        return _with_secret(token, secret)


class MeView(APIView):
    """`me`: who is asking."""

    @extend_schema(responses=MeSerializer)
    def get(self, request: Request) -> Response:
        """The reader with the teams that they are in."""
        return Response(MeSerializer(reader_of(request)).data)

    @extend_schema(request=ProfileSerializer, responses=MeSerializer)
    def patch(self, request: Request) -> Response:
        """Change name, language or time zone."""
        asked = ProfileSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        user = change_profile(user=reader_of(request), **asked.validated_data)
        return Response(MeSerializer(user).data)


class MyPasswordView(APIView):
    """`POST me/password`."""

    @extend_schema(request=PasswordSerializer, responses={204: None})
    def post(self, request: Request) -> Response:
        """Change one's own password."""
        asked = PasswordSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        change_password(
            user=reader_of(request),
            **asked.validated_data,
            address=client_address(request),
            now=timezone.now(),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)


class TokensView(generics.ListAPIView[ApiToken]):
    """`tokens`: the reader's own."""

    serializer_class = TokenSerializer
    queryset = ApiToken.objects.none()
    ordering = ("-created_at", "id")

    def get_queryset(self) -> QuerySet[ApiToken]:
        """Those that are not revoked."""
        return tokens_of(reader_of(self.request))

    @extend_schema(request=NewTokenSerializer, responses={201: SecretSerializer})
    def post(self, request: Request) -> Response:
        """Make a token; its secret is in this answer and nowhere else."""
        asked = NewTokenSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        token, secret = create_token(
            user=reader_of(request),
            **asked.validated_data,
            address=client_address(request),
            now=timezone.now(),
        )
        return _with_secret(token, secret)


class TokenView(APIView):
    """`tokens/{id}`."""

    @extend_schema(responses={204: None})
    def delete(self, request: Request, token_id: UUID) -> Response:
        """Revoke it; it is useless from now on."""
        revoke_token(
            user=reader_of(request), token_id=token_id, address=client_address(request), now=timezone.now()
        )
        return Response(status=status.HTTP_204_NO_CONTENT)


def _with_secret(token: ApiToken, secret: str) -> Response:
    body = {"token": secret, **TokenSerializer(token).data}
    # A secret must not stay in any cache on the way.
    return Response(body, status=status.HTTP_201_CREATED, headers={"Cache-Control": "no-store"})
