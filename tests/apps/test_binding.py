"""Where the server may listen."""

from __future__ import annotations

import pytest

from cfad_core.apps.server.binding import check_address, is_local
from cfad_core.apps.server.sign_in import SignIn
from cfad_core.core.errors import InvalidConfigError

OUTSIDE = ["0.0.0.0", "::", "192.168.1.4", "server.example.org", ""]


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CFAD_OPEN", raising=False)


@pytest.mark.parametrize("address", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.8.8", "::1"])
def test_this_computer_needs_no_sign_in(address: str) -> None:
    assert is_local(address)
    check_address(address, SignIn())


@pytest.mark.parametrize("address", OUTSIDE)
def test_other_addresses_need_one_or_a_word(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidConfigError) as caught:
        check_address(address, SignIn())
    assert f"CFAD_AUTH=oidc cfad serve --host {address}\n" in str(caught.value)
    assert str(caught.value).endswith(f"CFAD_OPEN=yes cfad serve --host {address}")
    check_address(address, SignIn("oidc"))
    monkeypatch.setenv("CFAD_OPEN", "yes")
    check_address(address, SignIn())


@pytest.mark.parametrize("said", ["1", "true", "YES"])
def test_the_word_is_yes(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFAD_OPEN", said)
    with pytest.raises(InvalidConfigError, match=f"CFAD_OPEN is yes, or not set at all; not '{said}'"):
        check_address("localhost", SignIn())
