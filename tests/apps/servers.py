"""Servers on this machine that score what is sent to them, or something else."""

from __future__ import annotations

import http.server
import io
import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pandas as pd


@contextmanager
def answering(kind: str, body: str | None = None, status: int = 200) -> Iterator[str]:
    """One that scores, or says ``body``; its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            text = body
            if text is None:
                rows = pd.read_csv(io.BytesIO(sent))
                scored = rows[["row_id"]].assign(score=-rows["debt"])
                text = json.dumps(scored.to_dict("records")) if kind.endswith("json") else scored.to_csv(index=False)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if status == 302:
                self.send_header("Location", "http://localhost:1/elsewhere")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with _served(http.server.HTTPServer(("localhost", 0), Handler)) as port:
        yield f"http://localhost:{port}/score"


@contextmanager
def saying(answer: bytes) -> Iterator[str]:
    """One that hears all and says these bytes, whatever they are; its address."""

    class Raw(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            length = 0
            while (line := self.rfile.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            self.rfile.read(length)
            self.wfile.write(answer)

    with _served(socketserver.TCPServer(("localhost", 0), Raw)) as port:
        yield f"http://localhost:{port}"


@contextmanager
def _served(server: socketserver.TCPServer) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
