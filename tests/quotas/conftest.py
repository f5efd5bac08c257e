"""The cast by role. Django is set up after this file is loaded, so it imports late."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.accounts.builders import Cast


@pytest.fixture
def cast(db: None) -> "Cast":
    """Two teams and their people."""
    from tests.accounts.builders import make_cast

    return make_cast()
