"""What Django says about an invalid row, as the problems that a refusal lists."""

from django.core.exceptions import ValidationError

from refusals import Invalid, Problem


def problems_of(error: ValidationError, *, path: str = "") -> list[Problem]:
    """One problem per message; `path` names the field where the error itself does not."""
    if hasattr(error, "error_dict"):
        return [
            Problem(path if field == "__all__" else field, message)
            for field, messages in error.message_dict.items()
            for message in messages
        ]
    return [Problem(path, message) for message in error.messages]


def invalid(error: ValidationError, *, path: str = "") -> Invalid:
    """The refusal that says what Django's validation found."""
    return Invalid(details=problems_of(error, path=path))
