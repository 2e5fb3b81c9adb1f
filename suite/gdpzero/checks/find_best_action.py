"""find_best_action and backpropagate: nodes and paths of many kinds, whole searches; then the experiment."""

import operator
from itertools import product
from random import Random

ACTS = (
    "credibility appeal",
    "emotion appeal",
    "greeting",
    "logical appeal",
    "other",
    "proposition of donation",
    "task related inquiry",
)
USER_ACTS = ("no donation", "negative reaction", "neutral", "positive reaction", "donate")


def cases(seed):
    rng = Random(seed)

    def draw():
        return rng.uniform(-1, 1)

    def node(size=7, **given):
        """A node with legal acts in any order; what is not given is drawn."""
        moves = given.get("moves") or rng.sample(range(7), size)
        weights = [rng.uniform(0.05, 1.0) for _ in moves]
        return {
            "moves": moves,
            "prior": given.get("prior") or [weight / sum(weights) for weight in weights],
            "values": given.get("values") or [draw() for _ in moves],
            "counts": given.get("counts") or [rng.randint(0, 9) for _ in moves],
            "entered": rng.randint(50, 900),
        }

    def select(name, *nodes, cpuct=None, **extra):
        """Selection in each of these nodes of one tree."""
        cpuct = rng.uniform(0.4, 3.0) if cpuct is None else cpuct
        return {"name": name, "kind": "select", "nodes": nodes, "cpuct": cpuct, **extra}

    yield select("no act is legal", node(0))
    for size in range(1, 8):
        yield select(f"{size} legal acts", *(node(size) for _ in range(5)))
        fresh = [node(size, counts=[0] * size, values=[value] * size) for value in (0.0, draw())]
        yield select(f"{size} legal acts, the first selection", *fresh)
    yield select("the first selection, unlike values", *(node(6, counts=[0] * 6) for _ in range(3)))
    yield select(
        "values below 0", *(node(values=[rng.uniform(-1, -0.5) for _ in range(7)]) for _ in range(3)), cpuct=0.1
    )
    once = [node(5, values=[0.0] * 5, counts=[int(place == taken) for place in range(5)]) for taken in range(5)]
    yield select("after one visit", *once)
    yield select("hundreds of visits", *(node(counts=[rng.randint(90, 900) for _ in range(7)]) for _ in range(4)))
    few = [node(counts=[rng.randint(500, 999), *[rng.randint(0, 2) for _ in range(6)]]) for _ in range(4)]
    yield select("one act has nearly all visits", *few)
    best = {"values": [0.1, 0.7, -0.2, 0.7, 0.7], "prior": [0.125, 0.25, 0.125, 0.25, 0.25]}
    equal = [node(5, **best, counts=counts) for counts in ([3, 2, 1, 2, 2], [1, 0, 1, 0, 0]) for _ in range(4)]
    yield select("the best of equals", *equal)
    for cpuct in (0.03, 1.0, 20.0):
        yield select(f"exploration of {cpuct}", *(node() for _ in range(5)), cpuct=cpuct)

    def turns(acts):
        """The turns of a dialogue with these acts."""
        said = []
        for act in acts:
            said.append(["Persuader", ACTS[act], f"Go on {rng.randrange(10**6)}."])
            said.append(["Persuadee", rng.choice(USER_ACTS), f"I see {rng.randrange(10**6)}."])
        return said

    def path(steps, start=0, **given):
        """A path of so many steps after a dialogue of `start` rounds, with the nodes that it leaves."""
        acts = [rng.randrange(7) for _ in range(start)]
        said, taken = turns(acts), []
        for _ in range(steps):
            left = {"acts": list(acts), **node(rng.randint(2, 7), **given)}
            acts.append(rng.choice(left["moves"]))
            said = said + turns(acts[-1:])
            taken.append({"node": left, "action": acts[-1], "turns": said})
        return taken

    def keep(said):
        """A dialogue that is kept."""
        return {"turns": said, "value": draw(), "visits": rng.randint(1, 9)}

    def alike(step, place, part, text):
        """The dialogue of a step with one word otherwise."""
        said = [list(turn) for turn in step["turns"]]
        said[place][part] = text
        return said

    def back(name, *searches, kept=(), **extra):
        """Searches that are backed up one after another: pairs of a path and a value."""
        given = [{"path": steps, "value": value} for steps, value in searches]
        return {"name": name, "kind": "back", "searches": given, "kept": list(kept), "other": node(), **extra}

    for steps, start, kind in product((1, 3, 6), (0, 2), ("none", "all", "some", "others")):
        given = path(steps, start)
        others = [keep(alike(step, -1, 2, "Perhaps.")) for step in given]
        every = [keep(step["turns"]) for step in given]
        kept = {"none": [], "all": every, "some": others + every[::2], "others": others}[kind]
        searches = [(given, draw()), (given[: rng.randint(1, steps)], draw()), (given, draw())]
        yield back(f"{steps} steps after {start} rounds, {kind} are kept", *searches, kept=kept)
    given = path(3, counts=[0] * 4, values=[0.5] * 4, moves=[4, 6, 5, 0])
    yield back("the untried, whose value was given", (given, draw()), (given, draw()))
    yield back("a value of 0, then others", *((given, value) for value in (0.0, draw(), 0.0, 1.0, -1.0)))
    words = [keep(alike(given[-1], place, 1, act)) for place, act in ((1, "in doubt"), (-1, "at ease"))]
    yield back("the same words with other acts are kept", (given, draw()), (given, draw()), kept=words)
    for cpuct, q_0, k in product((rng.uniform(0.4, 0.8), rng.uniform(1.2, 2.7)), (0.0, 0.5), (1, 3)):
        found = {"cpuct": cpuct, "q_0": q_0, "k": k, "sims": 15, "seed": rng.randrange(10**6)}
        start = rng.sample(ACTS[1:4], 2 * (k == 3))
        yield {"name": f"searches, {cpuct:.2f}, {q_0}, {k}", "kind": "search", **found, "start": start}
    yield {"name": "experiment", "seed": seed % 1000}

    def edge(case):
        return {**case, "edge": True}

    yield edge(select("no exploration", *(node() for _ in range(4)), *equal, node(counts=[0] * 7), cpuct=0.0))
    nobody = [node(4, prior=[0.0, 0.4, 0.0, 0.6], counts=[0] * 4, values=[0.5, 0.1, 0.9, 0.2]) for _ in range(2)]
    yield edge(select("acts without a prior", *nobody, node(prior=[0.0] * 7)))
    yield edge(select("priors that do not sum to 1", *(node(prior=[rng.random() for _ in range(7)]) for _ in range(4))))
    near = [[0.3 + step * 3e-8 for step in rng.sample(range(7), 7)] for _ in range(4)]
    yield edge(select("values close together", *(node(values=v, counts=[4] * 7, prior=[1 / 7] * 7) for v in near)))
    yield edge(select("settings change", *(node() for _ in range(6)), changed=[rng.uniform(0.1, 4) for _ in range(6)]))
    yield edge(back("no step", ([], draw()), kept=[keep(turns([1, 2]))]))
    yield edge(back("a hundred steps", (path(100), draw())))
    full = [keep(step["turns"]) for step in given] + [keep(alike(step, -1, 2, "Perhaps.")) for step in given]
    for k in (1, 2):
        yield edge(back(f"the caches are full, {k}", (given, draw()), (given, draw()), kept=full, max_realizations=k))


def observe(case):
    if "kind" not in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    return {"select": _select, "back": _back, "search": _search}[case["kind"]](case)


def _tree(rng, **settings):
    from core.config import GameConfig, PromptConfig, SearchConfig
    from core.game import PersuasionGame
    from core.mcts import OpenLoopMCTS
    from core.model import ScriptedModel
    from core.planner import PromptedPlanner

    model, rules, prompts = ScriptedModel(12, rng), GameConfig(), PromptConfig()
    planner = PromptedPlanner(model, prompts, rules)
    return OpenLoopMCTS(PersuasionGame(model, rules), planner, SearchConfig(**settings), rng)


def _node(given):
    import numpy as np
    from core.tree import Node

    prior = np.zeros(7)
    prior[given["moves"]] = given["prior"]
    return Node(tuple(given["moves"]), prior, list(given["values"]), list(given["counts"]), given["entered"])


def _session(turns):
    from core.session import DialogSession, Turn

    return DialogSession(Turn(*turn) for turn in turns)


def _name(acts):
    return "__".join(ACTS[act] for act in acts)


def _state(tree):
    """All that a tree remembers, in which the order of nodes has no meaning and that of dialogues has."""
    nodes = {
        name: [list(node.moves), node.prior.copy(), [*map(float, node.values)], [*map(int, node.counts)], node.entered]
        for name, node in sorted(tree.nodes.items())
    }
    kept = {
        name: [[key, one.session.transcript(), float(one.value), int(one.visits)] for key, one in dialogues.items()]
        for name, dialogues in sorted(tree.realizations.items())
    }
    return {"nodes": nodes, "kept": kept}


def _select(case):
    tree, results = _tree(Random(1), cpuct=case["cpuct"], q_0=0.1), []
    for number, given in enumerate(case["nodes"]):
        tree.nodes[_name([0] * number)] = _node(given)
    for number, name in enumerate(tree.nodes):
        if "changed" in case:
            tree.configs.cpuct = case["changed"][number]
        action, score = tree.find_best_action(name)
        results.append([operator.index(action), float(score)])
    return {"results": results, "state": _state(tree)}


def _back(case):
    from core.session import PERSUADER
    from core.tree import Realization, Step

    tree = _tree(Random(1), max_realizations=case.get("max_realizations", 20), q_0=0.2)
    tree.nodes["elsewhere"] = _node(case["other"])
    for given in case["kept"]:
        session = _session(given["turns"])
        cache = tree.realizations.setdefault("__".join(session.acts(PERSUADER)), {})
        cache[session.transcript()] = Realization(session, given["value"], given["visits"])
    results = []
    for given in case["searches"]:
        for step in given["path"]:
            tree.nodes.setdefault(_name(step["node"]["acts"]), _node(step["node"]))
        path = [Step(_name(one["node"]["acts"]), one["action"], _session(one["turns"])) for one in given["path"]]
        tree.backpropagate(path, given["value"])
        left = [[step.hashable_state, step.action, step.session.transcript()] for step in path]
        results.append({"path": left, "state": _state(tree)})
    return results


def _search(case):
    tree = _tree(Random(case["seed"]), cpuct=case["cpuct"], q_0=case["q_0"], max_realizations=case["k"])
    session = _session([])
    for act in case["start"]:
        session = tree.game.next_session(session, act)
    values = [tree.search(session) for _ in range(case["sims"])]
    return {"values": values, "state": _state(tree), "next_draw": tree.rng.random()}
