"""Complete the tasks of the tier `method`: add cases and wrong versions to those that the author wrote.

A method task masks all functions of a method. Its check also runs the experiment with unpublished seeds and observes
the metrics. A paper's pool of deviations contains plausible small changes of the repository (see `forensic`); each
deviation inside a masked function becomes a wrong version.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lmrbench.source.functions import find
from lmrbench.source.syntax import decode
from lmrbench.tasks.edits import place_of
from lmrbench.tasks.model import Task
from lmrbench.tasks.tiers.forensic import FILE, changed, parsed_pool
from lmrbench.tasks.tiers.logged import and_the_experiment
from lmrbench.tasks.workspace import one_text, third_party_imports


def method_task(task: Task) -> Task:
    """Return a method task with the experiment added to its check and the pool's deviations to its wrong versions.

    Raises:
        TaskError: The pool of deviations cannot be read.
    """
    # If a paper has a pool of deviations, its experiment also returns rates (counts and shares), which are not graded.
    has_rates = bool(task.files.deviations)
    files = replace(
        task.files,
        check=and_the_experiment(task.files.check, third_party_imports(task), has_rates),
        wrong={**dict(_deviating(task)), **task.files.wrong},
    )
    return task.model_copy(update={"files": files})


def _deviating(task: Task) -> Iterator[tuple[str, str]]:
    """Yield the name and the code of a wrong version for each deviation in the body of a target."""
    repository, file = task.files.repository, task.folder / FILE
    bodies: dict[str, list[range]] = {}
    for target in task.targets:
        text, function = decode(repository[target.file])[0], find(repository[target.file], target.qualname)
        lines = range(text.count("\n", 0, function.body), text.count("\n", 0, function.end) + 1)
        bodies.setdefault(target.file, []).append(lines)
    pool = parsed_pool(task).deviation if task.files.deviations else {}
    for name, item in pool.items():
        if item.file not in bodies:
            continue
        first, behind = place_of(decode(repository[item.file])[0], item, f"{file}: deviation.{name}")
        if any(first in lines and behind - 1 in lines for lines in bodies[item.file]):
            yield f"deviation_{name}", one_text({**repository, **changed(repository, {name: item}, file)}, task)
