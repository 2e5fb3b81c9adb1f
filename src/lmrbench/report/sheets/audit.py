"""The tables and lines about audits, adversaries and forensic draws.

An audit measures how well the check of a task tells correct from wrong code; a certificate contains its results. An
adversary is a model that writes right and wrong versions of a task's code to find weaknesses of the check. A forensic
draw is a random choice of deviations, which are changes to a paper's repository. It is fair if a search can find its
deviations from the logs of the changed program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from lmrbench.authoring.adversaries import Finding
from lmrbench.authoring.audit.certificate import CHECK_SECONDS, Certificate, Mutation, Survivor
from lmrbench.authoring.audit.knowledge import MOST_FIXED
from lmrbench.grading.forging import AuditedDraw, Effect
from lmrbench.report.render.tables import Sheet, sheet
from lmrbench.tasks.model import Draw
from lmrbench.text import counted


def certificates_sheet(found: Mapping[str, Certificate | None]) -> Sheet:
    """Return the table of audit results by task.

    The scores are the shares of mutants (small generated mistakes) that the check rejects; an ordinary score counts
    only rejections by ordinary cases. Behavioural mutants are wrong for some inputs only; other mutants have a mistake
    in one expression.

    Args:
        found: The certificate of each task, by task id; None for a task without a certificate.
    """
    columns = ["task", "cases", "edge", "flakes", "rewrites", "wrong", "mutants", "score", "ordinary score"]
    columns += ["behavioural mutants", "behavioural score", "behavioural ordinary score", "fixed cases"]
    rows = [(name, *(_measures(item) if item else ["-"] * (len(columns) - 1))) for name, item in found.items()]
    spare = ("flakes", "rewrites", "cases", "edge", "wrong", "ordinary score", "behavioural ordinary score")
    return sheet("", columns, rows, numbers=columns[1:], spare=spare)


def _measures(item: Certificate) -> tuple[object, ...]:
    return (
        item.cost.cases,
        item.cost.edge,
        item.golden.flakes,
        f"{sum(variant.passed for variant in item.rewrites)}/{len(item.rewrites)}",
        f"{sum(variant.passed for variant in item.wrong)}/{len(item.wrong)}",
        *_scores(item.mutation),
        *_scores(item.behavioural),
        "-" if item.fixed_inputs is None else f"{item.fixed_inputs:.0%}",
    )


def _scores(found: Mutation | None) -> tuple[object, ...]:
    if found is None:
        return ("-", "-", "-")
    by_ordinary = "-" if found.by_ordinary is None else f"{found.ordinary_score:.3f}"
    return (found.mutants, f"{found.score:.3f}", by_ordinary)


def audit_facts(
    found: Mapping[str, Certificate | None],
    shortfalls: Mapping[str, Sequence[str]],
    other_tiers: Mapping[str, Sequence[str]],
) -> list[dict[str, object]]:
    """Return the audit results of tasks, for JSON.

    Args:
        found: The certificate of each task, by task id; None for a task without a certificate.
        shortfalls: The reasons why each task fails the audit, by task id.
        other_tiers: Warnings that the workspace of a task contains answers to tasks of other tiers, by task id.
    """
    return [
        {
            "task": name,
            "shortfalls": shortfalls[name],
            **(item.model_dump(mode="json", exclude={"task"}) if item else {}),
            "other_tiers": other_tiers.get(name, []),
        }
        for name, item in found.items()
    ]


def mutants_to_see(found: Mapping[str, Certificate | None]) -> Iterator[tuple[str, str]]:
    """Yield a heading and the diff of each mutant that needs attention.

    A mutant is the reference with one small mistake. It survives if no case rejects it. In the method tier, a rejected
    mutant also needs attention if it contradicts neither the logged results nor a sentence that a solver reads.
    """
    for name, item in found.items():
        if item is None:
            continue
        for survivor in item.visible.undecided if item.visible else ():
            yield (
                f"{name}: mutant {survivor.id} ({survivor.operator}) contradicts neither the logged results nor a "
                "sentence that a solver reads",
                f"{survivor.diff}\n",
            )
        for survivor in item.survivors:
            yield f"{name}: mutant {survivor.id} ({survivor.operator}) survives", _survivor(survivor)


def _survivor(item: Survivor) -> str:
    case = f"an input on which mutant and reference differ: {item.told_apart_by}\n" if item.told_apart_by else ""
    return f"{item.diff}\n{case}"


def other_tiers(found: Iterable[str], others: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the warnings about audited tasks whose workspaces contain answers to tasks of other tiers.

    Args:
        found: The ids of the audited tasks.
        others: Warnings about such answers, by the id of the task whose workspace contains them.
    """
    for name in found:
        yield from (f"{name}: {text}" for text in others.get(name, ()))


def fixed_inputs(found: Mapping[str, Certificate | None]) -> Iterator[str]:
    """Yield a sentence for each task with too many fixed cases.

    A case is fixed if its observation is the same under two seeds, or if even a trivial answer matches it.
    """
    for name, item in found.items():
        if item and item.fixed_inputs is not None and item.fixed_inputs > MOST_FIXED:
            yield f"{name}: {item.fixed_inputs:.0%} of the cases are fixed, more than {MOST_FIXED:.0%}"


def slow_checks(found: Mapping[str, Certificate | None]) -> Iterator[str]:
    """Yield a sentence for each check that takes more processor time than the limit for its tier."""
    for name, item in found.items():
        if item and item.cost.seconds > CHECK_SECONDS[item.tier]:
            yield f"{name}: the check takes {item.cost.seconds:.2f} s, more than {CHECK_SECONDS[item.tier]:.1f} s"


def edge_failures(found: Mapping[str, Certificate | None]) -> Iterator[str]:
    """Yield a sentence for each rewrite that passes all ordinary cases but fails edge cases.

    A rewrite is a correct alternative implementation. Only the one named `plain` may fail edge cases.
    """
    for name, item in found.items():
        for rewrite in item.rewrites if item else ():
            if rewrite.correct and not rewrite.passed:
                cases = f"{counted(len(rewrite.fails), 'edge case')}: {', '.join(rewrite.fails)}"
                yield f"{name}: the rewrite {rewrite.name} passes all ordinary cases but fails {cases}"


def draws_sheet(found: Sequence[AuditedDraw]) -> Sheet:
    """Return the table of audited forensic draws.

    The columns give the number of deviations that share a stage of the experiment with another one, the number of runs
    that a search needs to find the deviations, the difference between the logs with one and with two threads (as a
    share of the tolerance), and the reason why a draw is not fair.
    """
    rows = [
        (
            item.task,
            item.sharing,
            "-" if item.draw.witness is None else item.draw.witness,
            "-" if item.margin is None else f"{item.margin:.2g}",
            item.unfair or "-",
        )
        for item in found
    ]
    columns = ("task", "deviations sharing a stage", "search runs", "difference on two threads", "reason if not fair")
    return sheet(counted(len(found), "draw"), columns, rows, numbers=columns[1:4])


def draw_lines(paper: str, draw: Draw, refused: Iterable[tuple[Draw, str]]) -> Iterator[str]:
    """Yield lines about the first fair draw of a paper's deviations, after one line for each unfair attempt."""
    for item, why in refused:
        yield f"attempt {item.attempt} is not fair: {why}"
    yield f"{paper}/{draw.id}: {', '.join(draw.deviations)}"
    yield f"runs that a search with knowledge of the pool needs to find these deviations: {draw.witness}"
    dial = ", entangled = true" if draw.entangled else ""
    yield f"to publish this draw: {{ count = {draw.count}, seed = {draw.seed}{dial}, attempt = {draw.attempt} }}"


def draw_facts(draw: Draw, refused: Iterable[tuple[Draw, str]]) -> dict[str, object]:
    """Return a draw and the attempts that were refused before it, for JSON."""
    reasons = [{"attempt": item.attempt, "why": why} for item, why in refused]
    return {**draw.model_dump(mode="json"), "refused": reasons}


def effects_sheet(paper: str, found: Sequence[Effect]) -> Sheet:
    """Return the table of the effects that each deviation of a paper has when it is the only change."""
    rows = [
        (item.name, item.file, item.stage, f"{len(item.moved)}/{item.metrics}", item.fault or "-", item.why)
        for item in found
    ]
    columns = ("deviation", "file", "first stage", "changed metrics", "problem", "difference from the paper")
    title = f"{paper}: {counted(len(found), 'deviation')}"
    return sheet(title, columns, rows, numbers=("changed metrics",), spare=("difference from the paper", "file"))


def adversary_sheet(found: Sequence[Finding]) -> Sheet:
    """Return the table that counts, by task, an adversary's versions that the check accepts or rejects.

    Wrong versions that are accepted are counted only if no known input distinguishes them from the reference; the
    others are listed by `adversary_texts`.
    """
    rows = []
    for task in dict.fromkeys(item.task for item in found):
        wrong = [item for item in found if item.task == task and item.proposal.kind == "wrong"]
        right = [item for item in found if item.task == task and item.proposal.kind == "right"]
        rejected = sum(not item.passed for item in wrong)
        alike = sum(item.passed and not item.amiss for item in wrong)
        accepted = sum(item.passed for item in right)
        rows.append((task, f"{rejected}/{len(wrong)}", alike, f"{accepted}/{len(right)}"))
    columns = ("task", "wrong rejected", "wrong accepted, no difference found", "right accepted")
    return sheet("", columns, rows, numbers=columns[1:])


def adversary_texts(found: Sequence[Finding]) -> Iterator[str]:
    """Yield a text for each of an adversary's versions that the check wrongly accepts or wrongly rejects."""
    for item in found:
        if item.amiss:
            name = f"{item.task}: {item.proposal.kind} version {item.number}"
            if item.proposal.kind == "wrong":
                yield (
                    f"{name} passes but violates this sentence: {item.proposal.sentence}\n"
                    f"  input on which it differs from the reference: {item.told_apart_by}"
                )
            else:
                yield f"{name} is meant to be right but fails: {item.rejected_by}"
