"""A program that does nothing but work the queue off, as docs/STORE.md shows it; ``kills`` starts and kills it.

python -m benchmarks.campaign.executor
"""

from __future__ import annotations

import os
import signal
import threading
import time

from cfad_core.core.errors import CfadError
from cfad_core.runs.start import start_executor
from cfad_core.runs.store import Store


def main() -> None:
    """Work until a signal ends it."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    while not ended.is_set():
        try:
            with Store() as store, start_executor(store, int(os.environ.get("CFAD_WORKERS", "1"))):
                ended.wait()
        except CfadError as error:  # the database or the cluster is away just now
            print(error, flush=True)
            time.sleep(1.0)


if __name__ == "__main__":
    main()
