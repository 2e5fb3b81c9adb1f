"""The database of an annotation, a project in which several people label answers.

It is one SQLite file with people, assignments, labels and decisions. An item is an answer, identified only by an
opaque name. A calibration item is an answer whose category is known. Each method that changes the database commits the
change before it returns. An assignment (an item in an annotator's queue) has a version number, which each change
increments. A request for a change names the version that it is based on, so repeated requests and
forms from outdated pages change nothing.
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
# The name of the lead in the table of people. The lead is the person who organizes the annotation.
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


class FormContent(NamedTuple):
    """The content of a label form, complete or not.

    Attributes:
        category: The chosen category; "" if none.
        error_class: The chosen error class; "" if none.
        reason: The explanation.
        seconds: The seconds that the annotator was active, or None if the browser did not count them.
    """

    category: str = ""
    error_class: str = ""
    reason: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Assignment:
    """An item in an annotator's queue.

    Attributes:
        annotator: The name of the annotator.
        item: The opaque name of the item.
        calibration: Whether the item is for calibration.
        version: A number that every change increments.
        shown: When the item was first shown, in seconds since the epoch; None if it was not shown yet.
        done: Whether the item is labelled.
        content: The label, or the draft of one.
    """

    annotator: str
    item: str
    calibration: bool
    version: int
    shown: float | None
    done: bool
    content: FormContent


@dataclass(frozen=True)
class Decision:
    """A decision on a disputed item.

    Attributes:
        item: The opaque name of the item.
        version: The version of the item's labels that the decision is based on; see `version_of`.
        decider: The name of the person who decided.
        content: The category, error class and reason that were decided on.
    """

    item: str
    version: str
    decider: str
    content: FormContent


class Store:
    """The database of an annotation. Use `open_store` to open one."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Wrap a connection to a database that has the tables of an annotation."""
        self._database = connection

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def tokens(self) -> dict[str, str]:
        """Return the token of each person, including the lead, by name."""
        return dict(self._database.execute("SELECT name, token FROM people"))

    def person(self, token: str) -> str | None:
        """Return the name of the person that a token belongs to, or None if the token is unknown."""
        found = None
        for name, theirs in self.tokens().items():
            # The comparison takes constant time, so response times reveal nothing about valid tokens.
            if hmac.compare_digest(theirs.encode(), token.encode("utf-8", "replace")):
                found = name
        return found

    def secret(self) -> bytes:
        """Return the key that CSRF tokens are derived from."""
        return bytes.fromhex(self._setting("secret"))

    def name(self) -> str:
        """Return the random name of this annotation, which makes the name of its cookie unique on the host."""
        return self._setting("name")

    def _setting(self, name: str) -> str:
        (value,) = self._database.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return str(value)

    def assignments(self, annotator: str | None = None, item: str | None = None) -> list[Assignment]:
        """Return assignments in the order of the queues.

        Args:
            annotator: Limits the result to one annotator.
            item: Limits the result to one item.

        Returns:
            The assignments.
        """
        rows = self._database.execute(
            "SELECT annotator, item, calibration, version, shown, done, category, error_class, reason, seconds"
            " FROM assignments WHERE (?1 IS NULL OR annotator = ?1) AND (?2 IS NULL OR item = ?2)"
            " ORDER BY annotator, calibration DESC, place",
            (annotator, item),
        )
        return [
            Assignment(row[0], row[1], bool(row[2]), row[3], row[4], bool(row[5]), FormContent(*row[6:]))
            for row in rows
        ]

    def next_item(self, annotator: str, now: float) -> Assignment | None:
        """Return the next item for an annotator and record that it was shown.

        Args:
            annotator: The name of the annotator.
            now: The current time in seconds since the epoch.

        Returns:
            The assignment, or None if all items are labelled.
        """
        found = next((each for each in self.assignments(annotator) if not each.done), None)
        if found is None or found.shown is not None:
            return found
        with self._changing():
            self._database.execute(
                "UPDATE assignments SET shown = ? WHERE annotator = ? AND item = ?", (now, annotator, found.item)
            )
        return self._assignment(annotator, found.item)

    def save(self, annotator: str, item: str, version: int, filled: Filled, now: float) -> bool:
        """Store a label.

        Args:
            annotator: The name of the annotator.
            item: The name of the item.
            version: The version of the assignment that the form was based on.
            filled: The label. Its `seconds` are capped at the time since the item was first shown.
            now: The current time in seconds since the epoch.

        Returns:
            Whether this label is now stored. If not, the assignment has changed since `version`.
        """
        content = FormContent(filled.category, filled.error_class or "", filled.reason, filled.seconds)
        with self._changing():
            found = self._assignment(annotator, item)
            if found is None:
                return False
            if found.version != version or found.done:
                return found.done and found.content[:3] == content[:3]
            self._keep(found, content, now, "done = 1")
            # The known category is shown after a calibration item is labelled, so its label can't be undone.
            step = (
                "DELETE FROM steps WHERE annotator = ? AND item = ?"
                if found.calibration
                else "INSERT INTO steps (annotator, item) VALUES (?, ?)"
            )
            self._database.execute(step, (annotator, item))
        return True

    def skip(self, annotator: str, item: str, version: int, draft: FormContent, now: float) -> None:
        """Move an item to the end of the queue and keep the draft, unless the assignment changed since `version`.

        Args:
            annotator: The name of the annotator.
            item: The name of the item.
            version: The version of the assignment that the form was based on.
            draft: The content of the form.
            now: The current time in seconds since the epoch.
        """
        with self._changing():
            found = self._assignment(annotator, item)
            if found is None or found.version != version or found.done:
                return
            last = "(SELECT MAX(place) + 1 FROM assignments AS other WHERE other.annotator = assignments.annotator)"
            self._keep(found, draft, now, f"place = {last}")
            self._database.execute("INSERT INTO steps (annotator, item) VALUES (?, ?)", (annotator, item))

    def last_step(self, annotator: str) -> int | None:
        """Return the number of the step (label or skip) that `undo` can take back, or None if there is none."""
        row = self._database.execute("SELECT MAX(number) FROM steps WHERE annotator = ?", (annotator,)).fetchone()
        return None if row[0] is None else int(row[0])

    def undo(self, annotator: str, step: int) -> None:
        """Take back the last label or skip: the item becomes the next one, with the form filled in as before.

        The label of a calibration item can't be taken back, because the known category was shown once it was stored.

        Args:
            annotator: The name of the annotator.
            step: The number of the label or skip. If it is not the annotator's last step, nothing happens.
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
        """Return the decisions by item."""
        rows = self._database.execute("SELECT item, version, decider, category, error_class, reason FROM decisions")
        return {
            item: Decision(item, version, decider, FormContent(*content)) for item, version, decider, *content in rows
        }

    def decide(self, item: str, version: str, decider: str, filled: Filled) -> bool:
        """Store a decision on an item, and replace any earlier one.

        Args:
            item: The name of the item.
            version: The version of the item's labels that the form was based on; see `version_of`.
            decider: The name of the person who decides.
            filled: The decision.

        Returns:
            Whether the decision was stored. If not, the labels have changed since `version`.
        """
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

    def _keep(self, found: Assignment, content: FormContent, now: float, change: str) -> None:
        at_most = max(0.0, now - found.shown) if found.shown is not None else 0.0
        seconds = None if content.seconds is None else min(content.seconds, at_most)
        self._database.execute(
            f"UPDATE assignments SET {change}, version = version + 1, category = ?, error_class = ?, reason = ?,"
            " seconds = ? WHERE annotator = ? AND item = ?",
            (*content[:3], seconds, found.annotator, found.item),
        )

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Run the body of a `with` statement in a transaction, which is rolled back on an exception."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


def version_of(labels: Iterable[Assignment]) -> str:
    """Return a digest of an item's labels. It changes whenever a label changes, and hides the annotators' names."""
    made = sorted((label.annotator, label.version) for label in labels if label.done)
    return hashlib.sha256(json.dumps(made).encode()).hexdigest()[:16]


def open_store(
    folder: Path, asked: Mapping[str, object], queues: Mapping[str, Sequence[str]], calibration: set[str]
) -> Store:
    """Open the database of an annotation, or create it.

    Args:
        folder: The folder of the annotation; created if it does not exist.
        asked: The settings that must not change after the database is created. The keys are the names that error
            messages use.
        queues: The items of each annotator, in order.
        calibration: The names of the calibration items.

    Returns:
        The open database.

    Raises:
        UsageError: The database was created with other settings. The message names them.
        RecordError: The file is not the database of an annotation.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / DATABASE
    # SQLite gives its journal files the same mode as the database.
    os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE))
    database = sqlite3.connect(file, isolation_level=None)
    store = Store(database)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        # Commits must survive a power failure.
        database.execute("PRAGMA synchronous = FULL")
        if not database.execute("SELECT name FROM sqlite_master").fetchone():
            with store._changing():
                _begin(database, asked, queues, calibration)
        begun = json.loads(store._setting("asked"))
    except (sqlite3.DatabaseError, TypeError) as error:
        database.close()
        raise RecordError(f"{file}: not an annotation database of lmrbench: {error}") from error
    if differing := [name for name, value in asked.items() if begun.get(name) != value]:
        database.close()
        raise UsageError(
            f"the annotation in {folder} was created with "
            f"{' and '.join(_differing(name, begun.get(name)) for name in differing)}; "
            "run the original command again to resume it, or choose another folder with --to"
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
