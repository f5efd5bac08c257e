"""The cast by role."""

import pytest

from tests.accounts.builders import Cast, make_cast


@pytest.fixture
def cast(db: None) -> Cast:
    """Two teams and their people."""
    return make_cast()
