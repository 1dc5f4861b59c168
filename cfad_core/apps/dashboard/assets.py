"""Where the dashboard's files are."""

from __future__ import annotations

from cfad_core.core.site import SITE

ASSETS = SITE / "assets"
HOW = str(ASSETS / "how.svg")
HOW_WORDS = (
    "A person and their twin, the same person in the other group, both go to the detector. It gives each a score; "
    "beyond the threshold somebody is flagged. If only one of the two is, the outcome changes."
)
