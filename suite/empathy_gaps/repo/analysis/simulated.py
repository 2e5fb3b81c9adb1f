"""A stand-in for a language model, which finds the identities in the two prompts and answers with a number."""

import re

import numpy as np

from analysis.groups import CULTURAL_REGIONS, ETHNIC_GROUPS, GROUP_OPTIONS, UNSPECIFIED, identities
from analysis.prompts import PROMPT_VARIATIONS, Event, make_prompt
from analysis.results import Answer

_NAMES = {name for option in GROUP_OPTIONS for name in identities(option)}
_IDENTITIES = sorted(_NAMES, key=lambda name: (-len(name), name))
_SIDE = {name: group for group, names in ETHNIC_GROUPS.items() for name in names}
_REGION = {f"{UNSPECIFIED} from {name}": region for region, countries in CULTURAL_REGIONS.items() for name in countries}
_OF_IDENTITY, _OF_VIEW, _OF_ANSWER = 6.0, 3.0, 2.0
REFUSAL = "I can't answer that."


class SimulatedModel:
    """A model whose perceivers from one cultural region share their view of each experiencer.

    Attributes:
        bias: The points, on the scale to 100, that are added if perceiver and experiencer are of one group.
        refusals: The probability of a refusal.
    """

    def __init__(self, bias: float, seed: int, refusals: float = 0.0) -> None:
        self.bias, self.refusals = bias, refusals
        self.generator = np.random.default_rng(seed)
        self.warmth = {name: float(self.generator.normal(0, _OF_IDENTITY)) for name in _IDENTITIES}
        self.views = {
            (region, name): float(self.generator.normal(0, _OF_VIEW))
            for region in CULTURAL_REGIONS
            for name in _IDENTITIES
        }

    def respond(self, system: str, task: str, base: float) -> str:
        """Answer with a number, or refuse. `base` is the intensity of the event before any identity counts."""
        if self.generator.random() < self.refusals:
            return REFUSAL
        perceiver, experiencer = _named(system), _named(task)
        alike = _SIDE.get(perceiver, perceiver) == _SIDE.get(experiencer, experiencer)
        view = self.views.get((_REGION.get(perceiver, ""), experiencer), 0.0)
        intensity = base + self.warmth[perceiver] + view + self.bias * alike + self.generator.normal(0, _OF_ANSWER)
        most = float(re.findall(r"to (\d+)\.", system)[-1])
        return str(round(min(max(intensity, 0.0), 100.0) * most / 100))


def ask(
    model: SimulatedModel, events: dict[Event, float], group_option: str, prompt_variation: str = PROMPT_VARIATIONS[0]
) -> list[Answer]:
    """Ask about every event for every pair of a category.

    Args:
        model: The model.
        events: The events, each with its base intensity.
        group_option: The category.
        prompt_variation: The prompt setting.

    Returns:
        The answers.
    """
    names = identities(group_option)
    return [
        Answer(perceiver, experiencer, event.id, model.respond(*prompts, base))
        for event, base in events.items()
        for perceiver in names
        for experiencer in names
        for prompts in [make_prompt(event, perceiver, experiencer, prompt_variation)]
    ]


def _named(prompt: str) -> str:
    return next(name for name in _IDENTITIES if name in prompt)
