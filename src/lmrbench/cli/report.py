"""Print what runs hold: tables, or the numbers of all tables as JSON."""

from __future__ import annotations

from lmrbench.cli.options import print_json
from lmrbench.cli.terminal import say, show
from lmrbench.report.findings import Findings, by_suite, by_tier
from lmrbench.report.sheets.runs import closing_lines
from lmrbench.report.tables import effects_of_repositories, sheets


def print_findings(findings: Findings) -> None:
    """Print all tables, and the rate and the costs of each system."""
    show(*sheets(findings))
    for line in closing_lines(findings):
        say(line)


def print_findings_as_json(findings: Findings) -> None:
    """Print the numbers of all tables, and the records that they were made of."""
    suites = by_suite(findings)
    facts = {"runs": [str(folder) for folder in findings.folders]}
    if len(suites) > 1:
        effects = effects_of_repositories(findings)
        apart = {suite: _of_tiers(part) for suite, part in suites.items()}
        print_json({**facts, "suites": apart, "repositories": [item.model_dump() for item in effects]})
    else:
        print_json({**facts, **_of_tiers(findings)})


def _of_tiers(findings: Findings) -> dict[str, object]:
    """The numbers of all tables of one suite."""
    from lmrbench.report.measures.memory import memory_effects

    parts = by_tier(findings)
    if len(parts) == 1:
        return {"tier": next(iter(parts)), **_numbers(findings)}
    memory = [item.model_dump() for item in memory_effects(findings.grades, findings.originals)]
    return {"tiers": {tier: _numbers(part) for tier, part in parts.items()}, "memory": memory}


def _numbers(findings: Findings) -> dict[str, object]:
    """The numbers of all tables of one tier."""
    from lmrbench.report.measures.attempts import attempts
    from lmrbench.report.measures.comparison import comparisons
    from lmrbench.report.measures.effort import effort
    from lmrbench.report.measures.power import ASSUMED_DISCORDANT, detectable_difference
    from lmrbench.report.measures.progress import curves, first_right
    from lmrbench.report.measures.rates import changes_found, costs, failures, rates, statuses
    from lmrbench.report.measures.ratings import beside_tests, opposites, ratings, tallies
    from lmrbench.report.measures.speed import speeds

    rated = ratings(findings.judgements, findings.labels)
    groups = rates(findings.grades, findings.usages, lambda task: "all")
    groups |= rates(findings.grades, findings.usages, findings.categories.__getitem__)
    return {
        "rates": {
            group: {system: item.model_dump() for system, item in of_systems.items()}
            for group, of_systems in groups.items()
        },
        "changes_found": [item.model_dump() for item in changes_found(findings.grades)],
        "not_submitted": findings.not_submitted,
        "failures": [item.model_dump() for item in failures(findings.grades)],
        "statuses": statuses(findings.usages),
        "costs": {system: item.model_dump() for system, item in costs(findings.usages).items()},
        "attempts": {
            system: [item.model_dump() for item in of_system] for system, of_system in attempts(findings.grades).items()
        },
        "effort": {system: item.model_dump() for system, item in effort(findings.grades, findings.usages).items()},
        "first_right": {system: item.model_dump() for system, item in first_right(findings.snapshots).items()},
        "curves": curves(findings.snapshots),
        "speeds": {system: item.model_dump() for system, item in speeds(findings.grades).items()},
        "comparisons": [
            {
                **item.model_dump(),
                "discordant": item.discordant,
                "detectable_difference": detectable_difference(item.tasks, item.discordant or ASSUMED_DISCORDANT),
            }
            for item in comparisons(findings.grades)
        ],
        "detectable_difference": detectable_difference(
            len({item.task for item in findings.grades}), ASSUMED_DISCORDANT
        ),
        "tallies": [item.model_dump() for item in tallies(rated)],
        "beside_tests": [item.model_dump() for item in beside_tests(rated, findings.grades)],
        "opposites": [
            {**item.model_dump(), "command": findings.commands[item.answer]}
            for item in opposites(rated, findings.grades)
        ],
        "grades": [item.model_dump(mode="json") for item in findings.grades],
        "usage": [item.model_dump(mode="json") for item in findings.usages],
        "progress": [item.model_dump(mode="json") for item in findings.snapshots],
    }
