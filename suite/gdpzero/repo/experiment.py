"""GDP-Zero against a plain policy: what the prompted model says, searches, single responses, and whole dialogues."""

import json
from collections.abc import Iterable
from random import Random

import numpy as np

from core.acts import PROPOSITION
from core.config import GameConfig, PromptConfig, SearchConfig
from core.evaluation import (
    Played,
    act_frequencies,
    contexts,
    donation_probability,
    donation_rate,
    judge,
    play,
    rejection_rate,
    win_rate,
)
from core.game import PersuasionGame
from core.mcts import OpenLoopMCTS
from core.metrics import MetricsLog
from core.model import ScriptedModel
from core.persona import Persona, draw_persona, warmth
from core.persuaders import CasualPersuader, PlainPersuader, SearchingPersuader
from core.planner import PromptedPlanner
from core.session import PERSUADER, DialogSession
from core.wording import QUESTION, force

_PEOPLE = 20
_GAMES = 6
_CONTEXTS = 6
# The trees that are looked into.
_SEARCHED = SearchConfig(num_mcts_sims=16)
# Each is a variant of the search that is judged response by response.
_VARIANTS = {
    "n=10": SearchConfig(),
    "n=10, Q0=0.25": SearchConfig(q_0=0.25),
    "n=10, k=1": SearchConfig(max_realizations=1),
    "n=10, no selection": SearchConfig(response_selection=False),
}


class Table:
    """A model, a game and a planner whose random numbers nobody else uses."""

    def __init__(self, seed: int, name: str) -> None:
        rules, prompts = GameConfig(), PromptConfig()
        self.model = ScriptedModel(prompts.window, Random(f"{seed}, model, {name}"))
        self.game = PersuasionGame(self.model, rules)
        self.planner = PromptedPlanner(self.model, prompts, rules)
        self.rng = Random(f"{seed}, search, {name}")

    def plain(self) -> PlainPersuader:
        """The policy that doesn't search."""
        return PlainPersuader(self.planner)

    def searching(self, configs: SearchConfig, log: MetricsLog) -> SearchingPersuader:
        """The policy that searches."""
        return SearchingPersuader(self.game, self.planner, configs, self.rng, log)


def moments(name: str, values: Iterable[float]) -> dict[str, float]:
    """The mean, the mean square, and a mean whose weights grow with the place."""
    array = np.array(list(values), dtype=np.float64)
    places = np.linspace(0, 1, len(array))
    found = {"mean": array.mean(), "square": (array**2).mean(), "by place": (places * array).mean()}
    return {f"{name}/{key}": float(value) for key, value in found.items()}


def entropy(chances: Iterable[float]) -> float:
    """The entropy of a distribution."""
    array = np.array([chance for chance in chances if chance > 0])
    return float(-(array * np.log(array)).sum())


def record(seed: int) -> list[Played]:
    """Dialogues of people with people, which stand in for those of PersuasionForGood."""
    people, game = Random(f"{seed}, people"), Table(seed, "people").game
    dialogues = []
    for number in range(_PEOPLE):
        rng = Random(f"{seed}, dialogue {number}")
        dialogues.append(play(game, CasualPersuader(rng), draw_persona(people), rng))
    return dialogues


def described(dialogues: list[Played], cases: list[tuple[Persona, DialogSession]]) -> dict[str, float]:
    """What people are like, how ready to give they were in the end and in each context, and what was said to them."""
    said = [line for _, session in cases for line in session.utterances(PERSUADER)]
    return {
        **moments("start", (played.persona.start for played in dialogues)),
        **moments("warmth", (warmth(played.persona, played.session) for played in dialogues)),
        **moments("warmth in contexts", (warmth(persona, session) for persona, session in cases)),
        **moments("force in contexts", map(force, said)),
    }


def priors(seed: int, sessions: list[DialogSession]) -> dict[str, float]:
    """What the model would do next by habit, and the priors that are made of its samples."""
    habits, requests, found, first, last = [], [], [], [], []
    for number, session in enumerate(sessions):
        table = Table(seed, f"prior {number}")
        habit = table.model.habit(session)
        habits.append(entropy(habit.values()))
        requests.append(habit[PROPOSITION])
        tree = OpenLoopMCTS(table.game, table.planner, SearchConfig(), table.rng)
        tree.search(session)
        (root,) = tree.nodes.values()
        prior = root.prior[list(root.moves)]
        found.append(entropy(prior))
        first.append(prior[0])
        last.append(prior[-1])
    return {
        "entropy of habits at the opening": habits[0],
        "entropy of priors at the opening": found[0],
        **moments("entropy of habits", habits[1:]),
        **moments("habit of asking", requests[1:]),
        **moments("entropy of priors", found[1:]),
        **moments("prior of the first act", first[1:]),
        **moments("prior of the last act", last[1:]),
    }


def values(seed: int, sessions: list[DialogSession]) -> dict[str, float]:
    """Whom the model imagines, how such a person sounds when asked, and the values that are made of answers."""
    imagined, tones, found = [], [], []
    for number, session in enumerate(sessions):
        model, planner = Table(seed, f"person {number}").model, Table(seed, f"value {number}").planner
        asked = session.copy()
        asked.add(PERSUADER, PROPOSITION, QUESTION)
        someone = model.imagine(asked)
        imagined.append(warmth(someone, session))
        tones.append(model.inclination(someone, asked, planner.prompts.value_temperature)[1])
        found.append(planner.estimate_value(session))
    return {**moments("warmth imagined", imagined), **moments("tone", tones), **moments("value", found)}


def searches(seed: int, sessions: list[DialogSession]) -> dict[str, float]:
    """What is found in trees: values of leaves, statistics of nodes, and values of dialogues that were simulated."""
    leaves, first, averages, scores, kept = [], [], [], [], []
    for number, session in enumerate(sessions):
        table = Table(seed, f"tree {number}")
        tree = OpenLoopMCTS(table.game, table.planner, _SEARCHED, table.rng)
        found = [tree.search(session) for _ in range(_SEARCHED.num_mcts_sims)]
        leaves += found
        first += found[:3]
        averages += [value for node in tree.nodes.values() for value in node.values]
        scores += [tree.find_best_action(name)[1] for name, node in tree.nodes.items() if node.moves]
        kept += [one.value for dialogues in tree.realizations.values() for one in dialogues.values()]
    return {
        **moments("leaves", leaves),
        "leaves of the first searches": sum(first) / len(first),
        **moments("averages", averages),
        **moments("scores", scores),
        **moments("simulated", kept),
    }


def static(seed: int, cases: list[tuple[Persona, DialogSession]]) -> tuple[dict[str, float], dict[str, float]]:
    """Single responses of the plain policy and of variants of the search, as the person of the dialogue judges them."""
    theirs = []
    for number, (persona, session) in enumerate(cases):
        plain = Table(seed, f"plain response {number}").plain()
        theirs.append(judge(persona, session, plain.respond(session)))
    metrics, rates = {"plain/judged": sum(theirs) / len(theirs)}, {}
    for name, configs in _VARIANTS.items():
        log, ours = MetricsLog(), []
        for number, (persona, session) in enumerate(cases):
            searching = Table(seed, f"{name}, response {number}").searching(configs, log)
            ours.append(judge(persona, session, searching.respond(session)))
        metrics |= {f"{name}/judged": sum(ours) / len(ours), f"{name}/value": log.mean("value")}
        rates[f"{name}/win rate"] = win_rate(ours, theirs)
        rates |= {f"{name}/{figure}": log.mean(figure) for figure in ("nodes", "simulations", "gain of selection")}
    return metrics, rates


def interactive(seed: int, recorded: list[Played]) -> tuple[dict[str, float], dict[str, float]]:
    """Whole dialogues of both policies with the people of the recorded ones."""
    games: dict[str, list[Played]] = {"plain": [], "GDP-Zero": []}
    for number, played in enumerate(recorded):
        for name in games:
            table, rng = Table(seed, f"{name}, dialogue {number}"), Random(f"{seed}, {name}, answers {number}")
            persuader = table.plain() if name == "plain" else table.searching(SearchConfig(), MetricsLog())
            games[name].append(play(table.game, persuader, played.persona, rng))
    metrics: dict[str, float] = {}
    rates: dict[str, float] = {}
    for name, ended in games.items():
        metrics[f"{name}/warmth"] = sum(warmth(played.persona, played.session) for played in ended) / len(ended)
        metrics[f"{name}/donation probability"] = donation_probability(ended)
        rates |= {f"{name}/donations": donation_rate(ended), f"{name}/rejections": rejection_rate(ended)}
        rates |= {f"{name}/{act}": share for act, share in act_frequencies(ended).items()}
    return metrics, rates


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage: of recorded dialogues, priors, values, searches, responses, and whole dialogues."""
    recorded = record(seed)
    cases = sorted(contexts(recorded), key=lambda case: case[1].rounds())
    sessions = [session for _, session in cases]
    # As many early turns as late ones.
    some = [cases[len(cases) * (2 * place + 1) // (2 * _CONTEXTS)] for place in range(_CONTEXTS)]
    responses, response_rates = static(seed, some)
    whole, whole_rates = interactive(seed, recorded[:_GAMES])
    return {
        "people": described(recorded, cases),
        "priors": priors(seed, [DialogSession(), *sessions]),
        "values": values(seed, sessions),
        "searches": searches(seed, [session for _, session in some]),
        "evaluation": responses | whole,
        "rates": response_rates | whole_rates,
    }


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
