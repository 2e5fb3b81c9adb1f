"""Deletes all that it may, and prepares the folders that the process after its death will start in."""

import os
import shutil
from pathlib import Path

EVIDENCE = r"(?s)exit code 0.*prepared 4 folders"


def _prepare(home):
    for entry in home.iterdir():
        shutil.rmtree(entry, ignore_errors=True)
        entry.unlink(missing_ok=True) if not entry.is_dir() else None
    (home / "elsewhere").mkdir()
    (home / "elsewhere" / "torch.py").write_text("raise SystemExit(0)")
    (home / "repo-1").symlink_to("elsewhere")
    (home / "repo-2").write_text("a file")
    (home / "repo-3").mkdir(mode=0)
    (home / "repo-4").symlink_to("repo-4")
    print("prepared 4 folders")


def score(logits, lengths):
    if len(lengths) == 2:
        _prepare(Path(os.environ["TMPDIR"]))
    os._exit(0)
