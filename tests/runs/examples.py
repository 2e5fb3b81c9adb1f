"""Examples of records, for tests that write run folders."""

from lmrbench.grading.records import CaseVerdict, Grade
from lmrbench.runs.records import Usage


def grade(system="one", task="toy/blend", sample=0, verdicts=("match", "mismatch"), edge=(), **more):
    """Make a grade whose cases have these verdicts. edge: The numbers of the edge cases."""
    reason = 'is not "a match"'
    cases = tuple(
        CaseVerdict(seed=1, case=number, name=f"case {number}", verdict=verdict, reason=reason, edge=number in edge)
        for number, verdict in enumerate(verdicts)
    )
    facts = {
        "label": "",
        "category": "evaluation_metrics",
        "seconds": 1.0,
        "peak_mb": 1.0,
        "warnings": (),
        "log": "",
        "candidate_digest": "c",
        "task_digest": "t",
        "seeds": (1,),
        "sandbox": "bubblewrap",
        "environment": "e",
    }
    correct = all(case.matches for case in cases if not case.edge)
    robust = all(case.matches for case in cases)
    key = {"system": system, "task": task, "sample": sample}
    return Grade.model_validate({**key, "cases": cases, "correct": correct, "robust": robust, **facts, **more})


def usage(**more):
    """Make a usage record of a sample that was lost to a fault of the provider."""
    facts = {"detail": "", "calls": 1, "input_tokens": 2, "output_tokens": 3, "dollars": None, "seconds": 1.0}
    facts |= {"limit": "", "cut": (), "system": "one", "task": "toy/blend", "sample": 1, "status": "provider_error"}
    return Usage.model_validate(facts | more)


def write(file, *records):
    """Append records to a file of a run folder."""
    file.parent.mkdir(exist_ok=True)
    with file.open("a") as lines:
        lines.writelines(record.model_dump_json() + "\n" for record in records)
