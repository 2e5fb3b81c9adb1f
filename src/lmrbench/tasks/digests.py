"""Digests that tell whether stored results about a task are still valid.

Grades and cached observations of the reference are valid as long as `grading_digest` stays the same. The certificate
of an audit is valid as long as `audit_digest` stays the same. Adding a wrong version, for example, invalidates the
certificate but no grade. Digests are computed from the bytes that were loaded, not from the files on disk.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

from lmrbench.tasks.model import Limits, Task
from lmrbench.tasks.sources.origin import Tree
from lmrbench.tasks.tiers.twin import ORIGINAL
from lmrbench.tasks.workspace import PYTHON, instruction

# These limits are part of every digest, so a change of their defaults changes all digests. A limit that is introduced
# later is part of a task's digest only if the task sets it, so that the digests of other tasks stay the same.
_LIMITS_OF_A_GRADE = frozenset({"memory_mb", "processes", "output_mb", "disk_mb", "open_files"})


def grading_digest(task: Task) -> str:
    """Return the SHA-256 of a task's repository, check, targets, tolerances, similarities and limits."""
    return files_digest(_graded(task))


def audit_digest(task: Task) -> str:
    """Return the SHA-256 of everything an audit reads.

    In addition to what `grading_digest` covers, these are the texts that a solver is given, the logged results, the
    rewrites (other correct implementations), the wrong versions, the reference's time limit, and the author's files
    `equivalent/<task>.toml` and `decided/<task>.toml`.
    """
    return files_digest({**_run(task), **_told(task)})


def runs_digest(task: Task) -> str:
    """Return the SHA-256 of everything that an audit reads except the texts that a solver is given."""
    return files_digest(_run(task))


def suite_digest(tasks: Iterable[Task]) -> str:
    """Return the SHA-256 of everything that solving and grading a suite's tasks depend on.

    The order of the tasks does not matter. Forensic tasks are left out, because they are derived from other tasks on
    demand.
    """
    listed = [task for task in tasks if task.draw is None]
    asked = {task.id: {**_graded(task), **_logged(task), **_told(task)} for task in listed}
    return files_digest({name: files_digest(files).encode() for name, files in asked.items()})


def files_digest(files: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of the names and contents of files."""
    digest = hashlib.sha256()
    for name, data in sorted(files.items()):
        digest.update(f"{name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def _run(task: Task) -> dict[str, bytes]:
    # A twin has the code of its original task as a wrong version. Code from a published package can't be read before it
    # is fetched, and need not be included, because the digest of the pinned source determines it.
    pinned = {ORIGINAL} if task.tier == "twin" and isinstance(task.files.repository, Tree) else set()
    variants = {
        f"{kind}/{name}": texts[name].encode()
        for kind, texts in (("rewrites", task.files.rewrites), ("wrong", task.files.wrong))
        for name in texts
        if name not in pinned
    }
    declared = {"equivalents": task.files.equivalents.encode(), "seconds": json.dumps(task.limits.seconds).encode()}
    if task.files.decided:
        declared["decided"] = task.files.decided.encode()
    return {**_graded(task), **_logged(task), **variants, **declared}


def _graded(task: Task) -> dict[str, bytes]:
    entry = task.model_dump(mode="json", include={"targets", "tolerance", "tolerances", "similarities"})
    if not task.similarities:
        # Tasks without similarities keep the digest that they had before similarities were introduced.
        del entry["similarities"]
    entry["limits"] = _limits(task.limits)
    return {"graded": _json(entry), "check": task.files.check.encode(), **_repository(task.files.repository)}


def _repository(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a repository, or only the digest of its source if it is published code."""
    if isinstance(files, Tree):
        return {"source": files.digest.encode()}
    return {f"repo/{path}": data for path, data in files.items()}


def _told(task: Task) -> dict[str, bytes]:
    told = {"paper", "name", "category", "context", "siblings"}
    # Dates are left out: only reports use them, so correcting one must not change the digest.
    entry = task.model_dump(mode="json", include=told, exclude={"paper": {"published", "released"}})
    if not task.paper.requirements:
        # Papers without requirements keep the digest that they had before requirements were introduced.
        del entry["paper"]["requirements"]
    if task.only_logs:
        entry["only_logs"] = task.only_logs
    return {
        "told": _json(entry),
        "instruction": instruction(task, "full").replace(PYTHON, "").encode(),
        "summary": task.files.summary.encode(),
    }


def _logged(task: Task) -> dict[str, bytes]:
    return {"results": task.files.results.encode()} if task.files.results else {}


def _limits(limits: Limits) -> dict[str, object]:
    # `seconds` is left out, because it limits only the reference. The limit of a submission is a multiple of the time
    # that the reference took.
    values = limits.model_dump(mode="json", exclude={"seconds"})
    set_here = limits.model_dump(exclude_defaults=True)
    return {name: value for name, value in values.items() if name in _LIMITS_OF_A_GRADE or name in set_here}


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
