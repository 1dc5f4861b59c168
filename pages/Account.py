"""Account: who somebody is, what they may take of the server, and their tokens."""

from __future__ import annotations

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.account import list_tokens, make_token, show_taken, show_who_i_am
from cfad_core.apps.dashboard.services import store

frame.open_page("Account")
if store().viewer.name:
    show_who_i_am()
    show_taken()
make_token()
list_tokens()
