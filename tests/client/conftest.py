"""The team of the API's tests, also for its client."""

from tests.apps.conftest import team_home, team_store, world

__all__ = ["team_home", "team_store", "world"]
