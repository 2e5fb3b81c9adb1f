"""The suites that come with lmrbench, loaded once for all tests of a process."""

import functools

from lmrbench.tasks.loading import default_suite, load_suite, suite_folder
from lmrbench.tasks.selection import select

# Reading a suite takes about a second; tests change no task.
ALL = tuple(load_suite(default_suite()))
# The tasks of the function tier, by id.
TASKS = {task.id: task for task in select(ALL, [])}


@functools.cache
def published():
    """Return the tasks on published packages, of the suites `real` and `live`."""
    return tuple(task for name in ("real", "live") for task in load_suite(suite_folder(name)))
