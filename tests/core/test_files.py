from __future__ import annotations

from pathlib import Path

import pytest

from cfad_core.core.errors import CfadError
from cfad_core.core.files import file_slug, new_folder, staged_file, staged_folder


def test_files_arrive_together_and_others_stay(tmp_path: Path) -> None:
    target = tmp_path / "a" / "out"
    target.mkdir(parents=True)
    (target / "mine.txt").write_text("keep")
    (target / "last.json").write_text("old")
    with staged_folder(target, last="last.json") as stage:
        (stage / "last.json").write_text("new")
        (stage / "data.bin").write_text("x")
        assert (target / "last.json").read_text() == "old"
    assert {path.name for path in target.iterdir()} == {"mine.txt", "last.json", "data.bin"}
    assert (target / "last.json").read_text() == "new"
    assert [path.name for path in target.parent.iterdir()] == ["out"]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="half way"), staged_folder(tmp_path / "out") as stage:
        (stage / "data.bin").write_text("x")
        raise RuntimeError("half way")
    with pytest.raises(RuntimeError, match="half way"), staged_file(tmp_path / "f.csv") as path:
        path.write_text("x")
        raise RuntimeError("half way")
    assert list(tmp_path.iterdir()) == []


def test_a_new_folder_comes_in_one_step(tmp_path: Path) -> None:
    with new_folder(tmp_path / "a" / "out") as stage:
        (stage / "data.bin").write_text("x")
        assert not (tmp_path / "a" / "out").exists()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["out"]
    assert (tmp_path / "a" / "out" / "data.bin").read_text() == "x"
    with pytest.raises(CfadError, match="is there already"), new_folder(tmp_path / "a" / "out"):
        pass
    with pytest.raises(RuntimeError, match="half way"), new_folder(tmp_path / "a" / "next") as stage:
        (stage / "data.bin").write_text("x")
        raise RuntimeError("half way")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["out"]


def test_wrong_kinds_of_targets_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(CfadError, match="is a file; choose a folder"), staged_folder(tmp_path / "file"):
        pass
    with pytest.raises(CfadError, match="is a folder; choose a file"), staged_file(tmp_path):
        pass
    with (
        pytest.raises(CfadError, match="is not a folder that can be written to"),
        staged_file(tmp_path / "file" / "x.csv"),
    ):
        pass


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Adult, sex", "adult-sex"),
        ("Ärzte & Löhne/2025", "ärzte-löhne-2025"),
        ("審査 1", "審査-1"),
        ("../../etc/passwd", "etc-passwd"),
        ("\u202e<script>.exe", "script-exe"),
        ("_*?:", "audit"),
        ("a" * 500, "a" * 60),
    ],
)
def test_a_name_becomes_part_of_a_file_name(name: str, slug: str) -> None:
    assert file_slug(name) == slug
