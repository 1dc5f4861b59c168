"""The server of a team: the pages, the API and what watches over them, on one port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
from starlette.middleware import Middleware

from cfad_core.apps.dashboard import services
from cfad_core.apps.dashboard.visitor import guarded
from cfad_core.apps.server.guard import Guard
from cfad_core.apps.server.measures import Measures
from cfad_core.apps.server.routes import watching_routes
from cfad_core.apps.server.sign_in import SignIn
from cfad_core.core.site import ENTRY


def create_app(sign_in: SignIn) -> st.App:
    """Everything that is served. Pages trust what ``Guard`` lets through, so it is part of the app."""
    measures = Measures(services.program_store)

    @asynccontextmanager
    async def lifespan(_: st.App) -> AsyncIterator[None]:
        services.program_store()  # the queue is worked off also while nobody looks
        guarded(is_guarded=True)
        try:
            yield
        finally:
            services.close()

    return st.App(
        ENTRY,
        lifespan=lifespan,
        routes=[
            *watching_routes(services.program_store, measures, sign_in),
        ],
        middleware=[Middleware(Guard, sign_in=sign_in, measures=measures)],
        on_script_error=measures.page_broke,
    )
