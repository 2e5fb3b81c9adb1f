"""Grade submissions with workers that a test has opened."""

from lmrbench.grading.grader import Grader
from lmrbench.grading.plan import GradingPlan
from lmrbench.runs.grading import grade_run


def graded(submissions, tasks, seeds, pool, **conditions):
    """Yield the grades as they are done. conditions: further fields of `GradingPlan`."""
    grader = Grader(tasks, GradingPlan(tuple(seeds), **conditions), pool)
    return (grade for _, grade in grader.grade_all(list(submissions)))


def graded_run(folder, submissions, tasks, seeds, pool, set_aside=lambda count: None, **conditions):
    """Yield the grades as they are written into a run folder. conditions: further fields of `GradingPlan`."""
    grader = Grader(tasks, GradingPlan(tuple(seeds), **conditions), pool)
    return grade_run(folder, submissions, grader, set_aside=set_aside)
