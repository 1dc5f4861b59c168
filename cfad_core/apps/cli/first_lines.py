"""What is said of how a table begins: title lines that are left out, a line of names that looks like data."""

from __future__ import annotations

import argparse

from cfad_core.core.formats import counted


def about_first_lines(options: argparse.Namespace) -> list[str]:
    """Remarks for whoever typed the name of a file; none about a folder, or about one that begins as expected."""
    from cfad_core.data.readers import first_lines

    if options.table.is_dir():
        return []
    found, remarks = first_lines(options.table, sheet=options.sheet), []
    if found.titles:
        which = "line is a title" if len(found.titles) == 1 else f"{len(found.titles)} lines are a title"
        remarks.append(f"info: The first {which}, and left out: {' / '.join(found.titles)[:200]}.")
    if options.header and found.doubt:
        below = counted(len(found.lines) - 1, "line")
        remarks.append(
            f"warning: The first line looks like data and not like the names of columns: {found.doubt} ({below} were "
            "compared). If it is, say --no-header."
        )
    return remarks
