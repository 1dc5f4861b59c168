from __future__ import annotations

import json

import pytest

from cfad_core.core.errors import InvalidConfigError, InvalidDataError
from cfad_core.data.findings import Finding, refuse_errors

MISSING = Finding("missing", "warning", "Column 'pay' has 3 missing cells.", "Ignore it.", "pay", 3)


def test_message_and_remedy_are_one_text() -> None:
    assert MISSING.text == "Column 'pay' has 3 missing cells. Ignore it."
    assert Finding("few-rows", "info", "300 rows are few.").text == "300 rows are few."


def test_the_json_of_a_finding() -> None:
    """Five keys in this order: audits that are already stored have them."""
    assert json.dumps(MISSING.to_dict()) == (
        '{"code": "missing", "severity": "warning", "message": "Column \'pay\' has 3 missing cells. Ignore it.", '
        '"column": "pay", "count": 3}'
    )


def test_a_finding_comes_back_with_its_remedy_in_the_message() -> None:
    back = Finding.from_dict(json.loads(json.dumps(MISSING.to_dict())))
    assert back == Finding("missing", "warning", MISSING.text, column="pay", count=3)
    assert back.to_dict() == MISSING.to_dict()
    with pytest.raises(InvalidConfigError, match="'notice.severity' cannot be read: Invalid enum value 'bad'"):
        Finding.from_dict({**MISSING.to_dict(), "severity": "bad"})


def test_all_errors_are_refused_at_once() -> None:
    refuse_errors([MISSING])
    errors = [Finding(code, "error", f"{code} is wrong.", "Correct it.") for code in ("one", "two")]
    with pytest.raises(InvalidDataError) as caught:
        refuse_errors([errors[0], MISSING, errors[1]])
    assert str(caught.value) == "one is wrong. Correct it.\ntwo is wrong. Correct it."
