"""The lines below the tables of a report."""

from __future__ import annotations

from collections.abc import Iterator

from lmrbench.report.findings import Findings, not_submitted, parts_of
from lmrbench.report.measures.rates import costs, rates
from lmrbench.text import counted


def closing_lines(findings: Findings) -> Iterator[str]:
    """Yield the rate of each system, the tasks that it has no answer to, its costs, and where the grades are."""
    for where, part in parts_of(findings):
        for of_systems in rates(part.grades, part.usages, lambda task: "all").values():
            for system, rate in of_systems.items():
                yield f"{system}{where}: {rate}"
    yield from not_submitted(findings)
    for system, cost in costs(findings.usages).items():
        dollars = f", ${cost.dollars:.4f}" if cost.dollars is not None else ""
        tokens = f"{cost.input_tokens:,} tokens in, {cost.output_tokens:,} out"
        yield f"{system}: {tokens}{dollars}; {cost.seconds:.1f} s of work per sample"
    yield f"{counted(len(findings.grades), 'grade')} in {', '.join(map(str, findings.folders))}"
