"""GDP-Zero against a plain policy: whole dialogues with simulated people, and single responses before a judge."""

import json
from random import Random

from core.config import GameConfig, PromptConfig, SearchConfig
from core.evaluation import act_frequencies, contexts, donation_rate, play, rejection_rate, win_rate
from core.game import PersuasionGame
from core.metrics import MetricsLog
from core.model import ScriptedModel
from core.persona import draw_persona
from core.persuaders import PlainPersuader, SearchingPersuader
from core.planner import PromptedPlanner

_PEOPLE = 10
_CONTEXTS = 8
# Each is a variant of the search that is judged response by response.
_VARIANTS = {
    "n=5": SearchConfig(num_mcts_sims=5),
    "n=10": SearchConfig(),
    "n=10, c=2.5, Q0=0.25": SearchConfig(cpuct=2.5, q_0=0.25),
    "n=10, k=1": SearchConfig(max_realizations=1),
    "n=10, no response selection": SearchConfig(response_selection=False),
}


def run(seed: int = 0) -> dict[str, float]:
    """Donations, rejections and acts of both persuaders; win rates of each variant; sizes of the trees."""
    rules, prompts = GameConfig(), PromptConfig()

    def table(name: str) -> tuple[PersuasionGame, PromptedPlanner, Random]:
        """A game, a planner and a source of random numbers that nobody else uses."""
        model = ScriptedModel(prompts.window, Random(f"{seed}, model, {name}"))
        return PersuasionGame(model, rules), PromptedPlanner(model, prompts, rules), Random(f"{seed}, search, {name}")

    people = Random(f"{seed}, people")
    personas = [draw_persona(people) for _ in range(_PEOPLE)]
    game, planner, rng = table("plain")
    plain = PlainPersuader(planner)
    plain_games = [play(game, plain, persona, rng) for persona in personas]
    game, planner, rng = table("searching")
    log = MetricsLog()
    searching = SearchingPersuader(game, planner, SearchConfig(), rng, log)
    searched_games = [play(game, searching, persona, rng) for persona in personas]

    metrics: dict[str, float] = {}
    for name, games in (("plain", plain_games), ("GDP-Zero", searched_games)):
        metrics[f"{name}: donations"] = donation_rate(games)
        metrics[f"{name}: rejections"] = rejection_rate(games)
        metrics |= {f"{name}: {act}": share for act, share in act_frequencies(games).items()}
    metrics |= log.means("trees")

    cases = contexts(plain_games)
    cases = people.sample(cases, min(_CONTEXTS, len(cases)))
    theirs = [plain.respond(session) for _, session in cases]
    for name, configs in _VARIANTS.items():
        game, planner, rng = table(name)
        variant = SearchingPersuader(game, planner, configs, rng, MetricsLog())
        ours = [variant.respond(session) for _, session in cases]
        metrics[f"win rate, {name}"] = win_rate(cases, ours, theirs)
    return metrics


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
