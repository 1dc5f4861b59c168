"""The beginning of the Data page: what one can bring, and the names of columns."""

from __future__ import annotations

import re

import streamlit as st

from cfad_core.apps.dashboard.state import Draft
from cfad_core.apps.dashboard.table_findings import with_tables
from cfad_core.apps.dashboard.visitor import here
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.markdown import as_text
from cfad_core.data.readers import distinct_names
from cfad_core.data.validation import MIN_GROUP_ROWS, MIN_TRAINING_ROWS

_UNNAMED = re.compile(r"^column \d+$")


def show_what_to_bring() -> None:
    """The page without a table: what one can bring, and what becomes of it."""
    st.subheader("What you can bring", anchor=False)
    shape, formats, private = st.columns(3)
    with shape.container(border=True, height="stretch"):
        st.markdown("**A table with one row a person**")
        st.markdown(
            f"At least {MIN_TRAINING_ROWS} people, and {MIN_GROUP_ROWS} of each group. One column says which group "
            "somebody belongs to, such as sex or nationality; the others are what is known of them. A column that says "
            "how it ended (fraud, denied, released) helps and is not needed."
        )
    with formats.container(border=True, height="stretch"):
        st.markdown("**CSV, TSV, Excel or Parquet**")
        st.markdown(
            "Delimiters, decimal commas and encodings are recognised, and so are title lines above the table and a "
            "missing line of names. An Excel file opens at its largest sheet. Cells may be missing."
        )
    with private.container(border=True, height="stretch"):
        st.markdown(f"**It stays on {here()}**")
        st.markdown(
            "The table is read and kept by the program that shows this page, and sent nowhere else. Nothing is loaded "
            "from the internet, but for public data sets that you pick."
        )
    st.markdown(
        "A table might begin like this. Here *sex* is sensitive, *fraud* is the outcome, and *claim_id* is ignored:"
    )
    st.table(
        {
            "claim_id": ["C-1041", "C-1042", "C-1043"],
            "sex": ["female", "male", "male"],
            "age": ["34", "51", "28"],
            "occupation": ["nurse", "driver", "clerk"],
            "claim": ["1,200", "430", "9,800"],
            "fraud": ["no", "no", "yes"],
        }
    )


def rename_columns(draft: Draft) -> None:
    """A place to type or paste the names of all columns."""
    names = [str(name) for name in draft.first.columns]
    unnamed = sum(_UNNAMED.match(name) is not None for name in names)
    label = "Name the columns" if unnamed > len(names) / 2 else "Rename columns"
    with st.expander(label, expanded=unnamed > len(names) / 2):
        text = st.text_area(
            f"{len(names)} names, one a line, or a line with commas or tabs between them",
            value="\n".join(names),
            key=f"names-{draft.key}",
            height=160,
        )
        if st.button("Use these names", key=f"use-names-{draft.key}"):
            try:
                given = names_in(text, len(names))
            except InvalidDataError as error:
                st.error(as_text(error, 300))
                return
            both = dict(zip(names, given, strict=True))
            # what was suggested for "column 1" says nothing of a name: suggest anew
            with_tables(draft, draft.tables.renamed(given), None if unnamed > len(names) / 2 else both)
            st.rerun()


def names_in(text: str, count: int) -> list[str]:
    """The names that somebody typed: a line each, or all in one line.

    Raises
    ------
    InvalidDataError
        If they are not as many as there are columns, or some are there twice.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and count > 1:
        mark = next((mark for mark in "\t;," if mark in lines[0]), " ")
        lines = [part.strip().strip("\"'") for part in lines[0].split(mark)]
    if len(lines) != count:
        raise InvalidDataError(f"Expected {count} names, one for each column; got {len(lines)}.")
    twice = sorted({name for name in lines if lines.count(name) > 1})
    if twice:
        raise InvalidDataError(f"Expected different names; '{twice[0]}' is there twice.")
    return distinct_names(lines)
