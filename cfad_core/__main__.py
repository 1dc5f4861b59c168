"""Entry point of ``python -m cfad_core``."""

import sys

from cfad_core.apps.cli import main

if __name__ == "__main__":
    sys.exit(main())
