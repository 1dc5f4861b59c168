"""Serve the pages, the API and what watches over them to a team, on one port, until a signal ends it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
import uvicorn
from starlette.middleware import Middleware
from streamlit import config
from streamlit.web import bootstrap

from cfad_core.apps.api.app import mounted
from cfad_core.apps.api.services import Services
from cfad_core.apps.dashboard import services
from cfad_core.apps.dashboard.broken import page_broke
from cfad_core.apps.dashboard.scripts import inline_scripts
from cfad_core.apps.dashboard.upload_gate import UploadGate
from cfad_core.apps.dashboard.visitor import guarded
from cfad_core.apps.server.address import Address, listen
from cfad_core.apps.server.binding import LOCAL_NAMES, check_address, is_local
from cfad_core.apps.server.garbage import collecting
from cfad_core.apps.server.guard import Guard
from cfad_core.apps.server.logs import event, write_json_lines
from cfad_core.apps.server.measures import Measures
from cfad_core.apps.server.routes import watching_routes
from cfad_core.apps.server.secrets_file import secrets_file
from cfad_core.apps.server.sign_in import SignIn
from cfad_core.core.site import ENTRY
from cfad_core.runs.store import Store

_LONGEST_MESSAGE = 32 * 2**20  # bytes that a browser sends at once; files come another way
_PATIENCE = 5  # seconds that requests may take to end once the server is stopped


def serve(address: Address) -> None:
    """Serve until a signal ends it.

    Raises
    ------
    InvalidConfigError
        If the settings let in whom they should not, or nobody.
    CfadError
        If the store cannot be opened, or the port is taken.
    """
    sign_in = SignIn.from_environment()
    check_address(address.host, sign_in)
    secrets = secrets_file() if sign_in.mode == "oidc" else None
    with Store() as store:
        store.health()
    listening = listen(address)
    write_json_lines()
    config._main_script_path = str(ENTRY)  # the settings beside it are ours, wherever this was started
    bootstrap.load_config_options(_options(address, sign_in, secrets))
    app = create_app(sign_in)
    event("serving", address=address.url, sign_in=sign_in.mode)
    uvicorn.Server(_config(app, address)).run(sockets=[listening])


def create_app(sign_in: SignIn) -> st.App:
    """Everything that is served. Pages trust what ``Guard`` lets through, so it is part of the app."""
    measures = Measures(services.program_store)

    @asynccontextmanager
    async def lifespan(_: st.App) -> AsyncIterator[None]:
        store = services.program_store()  # the queue is worked off also while nobody looks
        if sign_in.is_team:
            store.settle_roles(sign_in.role_of)  # the settings may have changed, and tokens do what people may
        guarded(is_guarded=True)
        try:
            with collecting():
                yield
        finally:
            services.close()

    return st.App(
        ENTRY,
        lifespan=lifespan,
        routes=[
            *watching_routes(services.program_store, measures, sign_in),
            mounted(_for_programs(sign_in)),
        ],
        middleware=[
            Middleware(Guard, sign_in=sign_in, measures=measures, scripts=inline_scripts()),
            Middleware(UploadGate, sign_in=sign_in),
        ],
        on_script_error=page_broke(measures.page_broke),
    )


def _for_programs(sign_in: SignIn) -> Services:
    """What the API works with: the same store, jobs and limits as the pages."""
    return Services(
        services.program_store,
        services.reader,
        services.uploads_folder,
        services.workers,
        is_team=sign_in.is_team,
        most_bytes=st.get_option("server.maxUploadSize") * 2**20,
    )


def _config(app: Any, address: Address) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
        ws="websockets-sansio",
        ws_max_size=_LONGEST_MESSAGE,
        proxy_headers=False,  # who a request comes from is for Guard to judge, by what the connection says
        server_header=False,
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=_PATIENCE,
    )


def _options(address: Address, sign_in: SignIn, secrets: Path | None) -> dict[str, Any]:
    """The settings of Streamlit that differ from those of the dashboard of one person."""
    options: dict[str, Any] = {
        "server_address": address.host,
        "server_port": address.port,
        "server_headless": True,
        "server_allowedHosts": LOCAL_NAMES if is_local(address.host) and not sign_in.is_team else [],
        "logger_messageFormat": "%(message)s",  # the message is the whole line
        "logger_enableRich": False,  # it writes errors past the loggers, with what they quote
    }
    if secrets is not None:
        options["secrets_files"] = [str(secrets)]
    if sign_in.mode == "proxy":  # nobody takes up the session of somebody else
        options["server_trustedUserHeaders"] = json.dumps({sign_in.name_header: "name"})
    return options
