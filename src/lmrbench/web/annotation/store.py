"""What was asked of annotators and what they said so far: one SQLite file, in which nothing is lost or there twice.

Whatever is said is committed before a method returns. An assignment, of an item to an annotator, has a version that
every change raises; a change names the version that it was made upon. So a request that comes twice, or from a page
that was left open, changes nothing the second time.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lmrbench.errors import RecordError, UsageError
from lmrbench.files import PRIVATE
from lmrbench.judging.sheets import Filled

DATABASE = "annotation.sqlite"
# The one who leads has no annotator's name.
LEAD = ""

_SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE people (name TEXT PRIMARY KEY, token TEXT NOT NULL);
CREATE TABLE assignments (
    annotator TEXT NOT NULL, item TEXT NOT NULL, calibration INTEGER NOT NULL, place INTEGER NOT NULL,
    version INTEGER NOT NULL DEFAULT 0, shown REAL, done INTEGER NOT NULL DEFAULT 0,
    category TEXT NOT NULL DEFAULT '', error_class TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '',
    seconds REAL,
    PRIMARY KEY (annotator, item)
);
CREATE TABLE steps (number INTEGER PRIMARY KEY AUTOINCREMENT, annotator TEXT NOT NULL, item TEXT NOT NULL);
CREATE TABLE decisions (
    item TEXT PRIMARY KEY, version TEXT NOT NULL, decider TEXT NOT NULL,
    category TEXT NOT NULL, error_class TEXT NOT NULL, reason TEXT NOT NULL
);
"""


class Said(NamedTuple):
    """What stands in a form. seconds: of activity, None where the browser did not count them."""

    category: str = ""
    error_class: str = ""
    reason: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Assignment:
    """An item of an annotator's queue. shown: when it first was, in seconds of the epoch. done: it is labelled."""

    annotator: str
    item: str
    calibration: bool
    version: int
    shown: float | None
    done: bool
    said: Said


@dataclass(frozen=True)
class Decision:
    """What somebody decided on a disputed item. version: of the item's labels that it was made upon."""

    item: str
    version: str
    decider: str
    said: Said


class Store:
    """The SQLite file of an annotation."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._database = connection

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def tokens(self) -> dict[str, str]:
        """The token of each annotator, and of the lead."""
        return dict(self._database.execute("SELECT name, token FROM people"))

    def person(self, token: str) -> str | None:
        """Whose token it is; None if it is nobody's."""
        found = None
        for name, theirs in self.tokens().items():
            # As long for any token, so that nobody can feel their way to one.
            if hmac.compare_digest(theirs.encode(), token.encode("utf-8", "replace")):
                found = name
        return found

    def secret(self) -> bytes:
        """What proofs that a form is of this server are made of."""
        return bytes.fromhex(self._setting("secret"))

    def name(self) -> str:
        """What tells the cookies of this annotation from those of another on the same host."""
        return self._setting("name")

    def _setting(self, name: str) -> str:
        (value,) = self._database.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return str(value)

    def assignments(self, annotator: str | None = None, item: str | None = None) -> list[Assignment]:
        """Assignments, of all or of one, in the order of the queues."""
        rows = self._database.execute(
            "SELECT annotator, item, calibration, version, shown, done, category, error_class, reason, seconds"
            " FROM assignments WHERE (?1 IS NULL OR annotator = ?1) AND (?2 IS NULL OR item = ?2)"
            " ORDER BY annotator, calibration DESC, place",
            (annotator, item),
        )
        return [Assignment(row[0], row[1], bool(row[2]), row[3], row[4], bool(row[5]), Said(*row[6:])) for row in rows]

    def next_item(self, annotator: str, now: float) -> Assignment | None:
        """What an annotator labels next, which from now on has been shown; None if there is nothing left."""
        found = next((each for each in self.assignments(annotator) if not each.done), None)
        if found is None or found.shown is not None:
            return found
        with self._changing():
            self._database.execute(
                "UPDATE assignments SET shown = ? WHERE annotator = ? AND item = ?", (now, annotator, found.item)
            )
        return self._assignment(annotator, found.item)

    def save(self, annotator: str, item: str, version: int, filled: Filled, now: float) -> bool:
        """Label an item. False if that is not what is kept: it had changed since that version.

        The seconds are never more than those since the item was first shown.
        """
        said = Said(filled.category, filled.error_class or "", filled.reason, filled.seconds)
        with self._changing():
            found = self._assignment(annotator, item)
            if found is None:
                return False
            if found.version != version or found.done:
                return found.done and found.said[:3] == said[:3]
            self._keep(found, said, now, "done = 1")
            # A label of a calibration item can't be taken back, nor what came before it.
            step = (
                "DELETE FROM steps WHERE annotator = ? AND item = ?"
                if found.calibration
                else "INSERT INTO steps (annotator, item) VALUES (?, ?)"
            )
            self._database.execute(step, (annotator, item))
        return True

    def skip(self, annotator: str, item: str, version: int, draft: Said, now: float) -> None:
        """Put an item to the end of the queue, with what stands in its form; nothing if it had changed."""
        with self._changing():
            found = self._assignment(annotator, item)
            if found is None or found.version != version or found.done:
                return
            last = "(SELECT MAX(place) + 1 FROM assignments AS other WHERE other.annotator = assignments.annotator)"
            self._keep(found, draft, now, f"place = {last}")
            self._database.execute("INSERT INTO steps (annotator, item) VALUES (?, ?)", (annotator, item))

    def last_step(self, annotator: str) -> int | None:
        """The number of what `undo` would take back; None if there is nothing."""
        row = self._database.execute("SELECT MAX(number) FROM steps WHERE annotator = ?", (annotator,)).fetchone()
        return None if row[0] is None else int(row[0])

    def undo(self, annotator: str, step: int) -> None:
        """Take back the last label or skip: its item is the next, with what was said; nothing if that was not the last.

        A label of a calibration item stays, for its verdict has been shown.
        """
        with self._changing():
            if self.last_step(annotator) != step:
                return
            (item,) = self._database.execute("SELECT item FROM steps WHERE number = ?", (step,)).fetchone()
            self._database.execute("DELETE FROM steps WHERE number = ?", (step,))
            first = "(SELECT MIN(place) - 1 FROM assignments AS other WHERE other.annotator = assignments.annotator)"
            self._database.execute(
                f"UPDATE assignments SET place = {first}, done = done AND calibration, version = version + 1"
                " WHERE annotator = ? AND item = ?",
                (annotator, item),
            )

    def decisions(self) -> dict[str, Decision]:
        """What was decided, by item."""
        rows = self._database.execute("SELECT item, version, decider, category, error_class, reason FROM decisions")
        return {item: Decision(item, version, decider, Said(*said)) for item, version, decider, *said in rows}

    def decide(self, item: str, version: str, decider: str, filled: Filled) -> bool:
        """Decide on an item; an earlier decision on it is replaced. False if its labels had changed."""
        with self._changing():
            if version != version_of(self.assignments(item=item)):
                return False
            self._database.execute(
                "INSERT OR REPLACE INTO decisions VALUES (?, ?, ?, ?, ?, ?)",
                (item, version, decider, filled.category, filled.error_class or "", filled.reason),
            )
        return True

    def _assignment(self, annotator: str, item: str) -> Assignment | None:
        return next(iter(self.assignments(annotator, item)), None)

    def _keep(self, found: Assignment, said: Said, now: float, change: str) -> None:
        at_most = max(0.0, now - found.shown) if found.shown is not None else 0.0
        seconds = None if said.seconds is None else min(said.seconds, at_most)
        self._database.execute(
            f"UPDATE assignments SET {change}, version = version + 1, category = ?, error_class = ?, reason = ?,"
            " seconds = ? WHERE annotator = ? AND item = ?",
            (*said[:3], seconds, found.annotator, found.item),
        )

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """One transaction: it is on the disk when this ends, or nothing of it is."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


def version_of(labels: Iterable[Assignment]) -> str:
    """What every change of an item's labels changes; it tells nothing of who they are by."""
    made = sorted((label.annotator, label.version) for label in labels if label.done)
    return hashlib.sha256(json.dumps(made).encode()).hexdigest()[:16]


def open_store(
    folder: Path, asked: Mapping[str, object], queues: Mapping[str, Sequence[str]], calibration: set[str]
) -> Store:
    """The SQLite file of a folder; a new one where there is none.

    Args:
        folder: which is made where it is missing.
        asked: the settings that may not change as long as the file is used, by the name that a message calls them.
        queues: the items of each annotator, in order.
        calibration: the items whose verdict is known.

    Raises:
        UsageError: the file was begun with other settings. It names them.
        RecordError: it is no file of ours.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / DATABASE
    # SQLite gives the files that it puts beside it the same mode.
    os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE))
    database = sqlite3.connect(file, isolation_level=None)
    store = Store(database)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        # Also what was committed just before the power fails is there afterwards.
        database.execute("PRAGMA synchronous = FULL")
        if not database.execute("SELECT name FROM sqlite_master").fetchone():
            with store._changing():
                _begin(database, asked, queues, calibration)
        begun = json.loads(store._setting("asked"))
    except (sqlite3.DatabaseError, TypeError) as error:
        database.close()
        raise RecordError(f"{file}: is no annotation of lmrbench: {error}") from error
    if differing := [name for name, value in asked.items() if begun.get(name) != value]:
        database.close()
        raise UsageError(
            f"{folder}: was begun with {' and '.join(_differing(name, begun.get(name)) for name in differing)}; "
            "resume it with the same command, or name another folder with --to"
        )
    return store


def _differing(name: str, begun: object) -> str:
    shown = ", ".join(map(str, begun)) if isinstance(begun, list) else str(begun)
    return f"another {name} ({shown})" if isinstance(begun, int) else f"other {name} ({shown})"


def _begin(
    database: sqlite3.Connection,
    asked: Mapping[str, object],
    queues: Mapping[str, Sequence[str]],
    calibration: set[str],
) -> None:
    for statement in _SCHEMA.split(";"):
        database.execute(statement)
    settings = {"asked": json.dumps(asked), "secret": secrets.token_hex(32), "name": secrets.token_hex(4)}
    database.executemany("INSERT INTO settings VALUES (?, ?)", settings.items())
    people = [(name, secrets.token_urlsafe(24)) for name in (*queues, LEAD)]
    database.executemany("INSERT INTO people VALUES (?, ?)", people)
    database.executemany(
        "INSERT INTO assignments (annotator, item, calibration, place) VALUES (?, ?, ?, ?)",
        [
            (name, item, item in calibration, place)
            for name, queue in queues.items()
            for place, item in enumerate(queue)
        ],
    )
