"""The votes of judges that a run folder holds, in `judgements.jsonl`: one line per vote."""

from __future__ import annotations

import json
from pathlib import Path

from lmrbench.errors import RecordError
from lmrbench.judging.labels import Answer
from lmrbench.judging.scale import CATEGORIES, Category
from lmrbench.lines import whole_lines

JUDGEMENTS = "judgements.jsonl"


def read_votes(folder: Path) -> dict[str, dict[Answer, list[Category]]]:
    """What each judge of a run said of each answer, a category for each of its votes; {} where nobody judged.

    A vote without a category is left out; of a vote that was asked for again, the last line counts. Keys that this
    does not need are ignored. Raises RecordError, naming file and line, for a line that is no vote.
    """
    last: dict[tuple[str, Answer, str], Category | None] = {}
    for number, line in whole_lines(folder / JUDGEMENTS):
        try:
            item = json.loads(line)
            answer = Answer(str(item["system"]), str(item["task"]), int(item["sample"]))
            vote = f"{item.get('vote')} {item.get('order')}"
            category = next((name for name in CATEGORIES if name == item["category"]), None)
            last[str(item["judge"]), answer, vote] = category
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise RecordError(f"{folder / JUDGEMENTS}:{number}: is no vote of a judge: {error!r}") from error
    votes: dict[str, dict[Answer, list[Category]]] = {}
    for (judge, answer, _), category in last.items():
        if category is not None:
            votes.setdefault(judge, {}).setdefault(answer, []).append(category)
    return votes
