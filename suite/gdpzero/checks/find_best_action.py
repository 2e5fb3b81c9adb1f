"""find_best_action and backpropagate: nodes and paths of many kinds, whole searches; then the experiment."""

import operator
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
WORDS = ("Think of the children", "They are audited", "Two dollars", "I see", "Go on", "No")


def cases(seed):
    rng = Random(seed)

    def node(size=7, **given):
        """A node with legal acts in any order; what is not given is drawn."""
        moves = given.get("moves") or rng.sample(range(7), size)
        size = len(moves)
        weights = [rng.uniform(0.05, 1.0) for _ in moves]
        return {
            "moves": list(moves),
            "prior": given.get("prior") or [weight / sum(weights) for weight in weights],
            "values": given.get("values") or [rng.uniform(-1.0, 1.0) for _ in moves],
            "counts": given.get("counts") or [rng.randint(0, 9) for _ in moves],
            "entered": rng.randint(1, 900),
        }

    def select(name, *nodes, cpuct=None, **extra):
        """Selection in each of these nodes, in one tree or, refilled, in one node."""
        drawn = [rng.uniform(0.4, 3.0) for _ in nodes] if cpuct is None else [cpuct] * len(nodes)
        return {"name": name, "kind": "select", "nodes": list(nodes), "cpuct": drawn, **extra}

    yield select("all acts are legal", *(node() for _ in range(12)), twice=True)
    yield select("some acts are legal", *(node(size) for size in (2, 3, 4, 5, 6) for _ in range(3)))
    yield select("one act is legal", node(1), node(1, counts=[0]), node(1, moves=[0]))
    yield select("no act is legal", node(0))
    untried = [node(size, counts=[0] * size, values=[0.25] * size) for size in (7, 4, 6, 7, 3)]
    yield select("the first selection", *untried)
    yield select("the first selection, unlike values", *(node(6, counts=[0] * 6) for _ in range(3)))
    alike = [0] * 6
    yield select("the first selection, all alike", node(counts=alike, values=[0.0] * 6, prior=[1 / 6] * 6, size=6))
    low = {"values": [-0.5] * 6, "prior": [1 / 6] * 6, "counts": [2] * 6}
    yield select("all alike", node(6, **low), node(6, **low, moves=[5, 3, 0, 6, 1, 2]))
    best = {"values": [0.1, 0.7, -0.2, 0.7, 0.7], "prior": [0.125, 0.25, 0.125, 0.25, 0.25], "counts": [3, 2, 1, 2, 2]}
    yield select("the best of equals", *(node(moves=rng.sample(range(7), 5), **best) for _ in range(4)))
    yield select("the best of equals, numbers falling", node(moves=[6, 5, 4, 2, 0], **best))
    yield select("the best of equals, never tried", node(moves=[2, 6, 1, 4, 0], **(best | {"counts": [1, 0, 1, 0, 0]})))
    yield select("no exploration", *(node() for _ in range(4)), node(5, **best), node(counts=[0] * 7), cpuct=0.0)
    yield select("little exploration", *(node() for _ in range(4)), cpuct=0.03)
    yield select("much exploration", *(node() for _ in range(6)), cpuct=100.0)
    yield select("the usual exploration", *(node() for _ in range(4)), cpuct=1.0)
    yield select("every value is low", *(node(values=[rng.uniform(-100, -30) for _ in range(7)]) for _ in range(3)))
    yield select("values are far apart", *(node(values=[rng.uniform(-100, 100) for _ in range(7)]) for _ in range(3)))
    yield select("values are 0", *(node(values=[0.0] * 7) for _ in range(6)))
    once = [node(5, values=[0.0] * 5, counts=[int(place == taken) for place in range(5)]) for taken in range(5)]
    yield select("after one visit", *once)
    yield select("hundreds of visits", *(node(counts=[rng.randint(90, 900) for _ in range(7)]) for _ in range(4)))
    most = [10**6 - rng.randint(0, 9) for _ in range(7)]
    yield select("a million visits", node(counts=most), node(counts=most, values=[0.0] * 7), cpuct=37.0)
    few = [node(counts=[rng.randint(500, 999), *[rng.randint(0, 2) for _ in range(6)]]) for _ in range(4)]
    yield select("one act has nearly all visits", *few, cpuct=2.3)
    sure = node(6, prior=[0.0, 0.0, 0.0, 1.0, 0.0, 0.0], values=[0.2, 0.1, 0.3, -0.9, 0.6, 0.5])
    yield select("a prior that is sure", sure, sure, cpuct=1.7)
    nobody = node(4, prior=[0.0, 0.4, 0.0, 0.6], counts=[0] * 4, values=[0.5, 0.1, 0.9, 0.2])
    yield select("acts without a prior", nobody)
    for base, gap in ((0.3, 1e-6), (0.3, 3e-9), (-99.0, 3e-7)):
        near = [[base + step * gap for step in rng.sample(range(7), 7)] for _ in range(4)]
        nodes = [node(values=values, counts=[4] * 7, prior=[1 / 7] * 7) for values in near]
        yield select(f"values {gap} apart", *nodes, cpuct=0.7)
    yield select("the lowest values", node(values=[-100.0] * 7), node(1, values=[-100.0]), cpuct=0.0)
    yield select("settings change", *(node() for _ in range(6)), replaced=True)
    yield select("one node, refilled", *(node() for _ in range(8)), refilled=True)
    again = node(7)
    unlike = [{**again, key: again[key][::-1]} for key in ("values", "counts", "prior", "moves")]
    yield select("one node, refilled in part", again, *unlike, again, refilled=True, cpuct=0.8)
    loose = [[scale * rng.random() for _ in range(7)] for scale in (1.0, 0.02, 0.3, 1.0)]
    yield select("priors that don't sum to 1", *(node(prior=prior) for prior in loose))
    yield select("priors that are all 0 or all 1", node(prior=[0.0] * 7), node(prior=[1.0] * 7))
    yield select("priors that can't be written", *(node() for _ in range(2)), read_only=True)
    yield select("priors of every other place", *(node() for _ in range(2)), strided=True)

    def turns(acts, few_words=False):
        """The turns of a dialogue with these acts."""
        said = []
        for act in acts:
            words, answer = rng.choice(WORDS), rng.choice(WORDS[3:])
            if not few_words:
                words, answer = f"{words} {rng.randrange(10**6)}.", f"{answer} {rng.randrange(10**6)}."
            said += [["Persuader", ACTS[act], words], ["Persuadee", rng.choice(USER_ACTS), answer]]
        return said

    def path(steps, start=0, joined=True, moves=None, **given):
        """A path of so many steps after a dialogue of `start` rounds, with the nodes that it leaves."""
        acts = [rng.randrange(7) for _ in range(start)]
        said, taken = turns(acts), []
        for _ in range(steps):
            legal = moves or rng.sample(range(7), rng.randint(2, 7))
            action = given.get("action", rng.choice(legal))
            left = {"acts": list(acts), **node(moves=legal, **{key: given[key] for key in given if key != "action"})}
            acts.append(action)
            said = said + turns(acts[-1:]) if joined else turns(acts)
            taken.append({"node": left, "action": action, "turns": said})
        return taken

    def back(name, *searches, kept=(), **extra):
        """Searches that are backed up one after another: pairs of a path and a value."""
        given = [{"path": steps, "value": value} for steps, value in searches]
        others = [{"acts": [rng.randrange(7) for _ in range(3)], **node()} for _ in range(2)]
        return {"name": name, "kind": "back", "searches": given, "kept": list(kept), "others": others, **extra}

    def keep(said, visits=None, value=None):
        """A dialogue that is kept."""
        value = rng.uniform(-1, 1) if value is None else value
        return {"turns": said, "value": value, "visits": visits or rng.randint(1, 9)}

    def draw():
        return rng.uniform(-1, 1)

    yield back("no step", ([], draw()), kept=[keep(turns([1, 2]))])
    yield back("one step", (path(1), draw()))
    yield back("one step in a dialogue", (path(1, start=3), draw()))
    for steps in (2, 7, 100):
        yield back(f"{steps} steps", (path(steps, start=steps % 3), draw()))
    yield back("dialogues that don't go on", (path(4, joined=False), draw()))
    every_act = [5, 0, 3, 6, 2, 4, 1]
    yield back("two searches", (path(3, moves=every_act), draw()), (path(2, moves=every_act), draw()))
    same = path(3, start=1)
    yield back("one path four times", *((same, draw()) for _ in range(4)), twice=True)
    yield back("one path, longer each time", *((same[:steps], draw()) for steps in (1, 2, 3)))
    yield back("the untried, whose value was given", (path(3, counts=[0] * 5, moves=[6, 1, 0, 3, 2]), draw()))
    high = {"counts": [0] * 4, "values": [0.5] * 4, "moves": [4, 6, 5, 0]}
    yield back("optimistic values of the untried", (path(2, **high), -0.75), (path(1, **high), 0.125))
    known = path(2)
    values = (0.0, 1.0, -1.0, 100.0, -100.0, 1e-7, 0.0)
    yield back("values of all sizes", *((known, value) for value in values), kept=[keep(known[1]["turns"])])
    yield back("the highest value", (path(2), 100.0))
    yield back("the lowest value", (path(2), -100.0))
    yield back("a value of 0, then others", (same, 0.0), (same, 0.3), (same, 0.0))
    for action in (0, 6):
        orders = [4, 6, 2, 0, 5], list(range(7)), [6, 5, 4, 3, 2, 1, 0]
        # Of unlike lengths, so that no two of them leave the same node.
        given = [path(2, start=3 * number, moves=moves, action=action) for number, moves in enumerate(orders)]
        yield back(f"the act {action}", *((steps, draw()) for steps in given + given))
    yield back("one act is legal", (path(3, moves=[3]), draw()))
    many = path(2, counts=[999_990] * 3, moves=[5, 1, 2])
    yield back("a million visits", (many, draw()), kept=[keep(step["turns"], 999_990) for step in many])
    hundreds = path(3, counts=[300, 257, 511], moves=[0, 6, 2])
    yield back("hundreds of visits", (hundreds, draw()), kept=[keep(step["turns"], 300) for step in hundreds])
    known = path(4, start=2)
    among = [keep(turns([ACTS.index(turn[1]) for turn in step["turns"][::2]])) for step in known for _ in range(2)]
    every = [keep(step["turns"]) for step in known]
    yield back("all are kept", (known, draw()), (known, draw()), kept=every)
    yield back("all are kept, with others before", (known, draw()), kept=among + every)
    yield back("all are kept, with others after", (known, draw()), kept=every + among)
    yield back("others are kept", (known, draw()), kept=among)
    yield back("some are kept", (known, draw()), kept=[every[0], every[2], *among])
    yield back("kept from one visit", (known, draw()), kept=[keep(step["turns"], 1, 0.0) for step in known])
    yield back("the caches are full", (known, draw()), kept=every, max_realizations=1)
    yield back("the caches are full, of others too", (known, draw()), kept=among + every, max_realizations=3)
    yield back("more are kept than may be", (known, draw()), (known, draw()), kept=among + every, max_realizations=1)
    yield back("one place is left", (known, draw()), kept=among, max_realizations=3)
    yield back("nothing was ever kept there", (known, draw()), kept=[keep(turns([2, 2]))], max_realizations=1)

    def altered(steps, place, part, text):
        """The last dialogue of a path with one word otherwise."""
        said = [list(turn) for turn in steps[-1]["turns"]]
        said[place][part] = text
        return said

    known = path(2, start=9)
    known[-1]["turns"] = [[*turn[:2], "I see. "] for turn in known[-1]["turns"]]
    for changes in (
        [(1, 1, "out of the blue"), (-1, 1, "anything")],
        [(0, 2, "Hello."), (-1, 2, "i see. "), (-1, 2, "I see.")],
        [(-2, 2, " I see. "), (-1, 2, ""), (-1, 2, "I see.  "), (-1, 2, "I see.\t")],
    ):
        kept = [keep(altered(known, *change)) for change in changes]
        yield back(f"dialogues nearly like it: {changes}", (known, draw()), (known, draw()), kept=kept)
    brief = path(3)
    for step in brief:
        step["turns"] = turns([ACTS.index(turn[1]) for turn in step["turns"][::2]], few_words=True)
    yield back("the same words again and again", *((brief, draw()) for _ in range(3)))
    afterwards = [(path(steps, moves=every_act), draw()) for steps in (3, 2)]
    yield back("dialogues go on afterwards", *afterwards, longer=True)
    yield back("the same dialogues go on", (same, draw()), (same, draw()), kept=[keep(same[1]["turns"])], longer=True)
    yield back("the dialogues of the caches", (same, draw()), kept=[keep(one["turns"]) for one in same], shared=True)
    long = path(1, start=150)
    others = [keep(altered(long, place, 2, "Other words.")) for place in (0, -1)]
    yield back("a long dialogue", (long, draw()), (long, draw()), kept=others)
    refilled = [(path(3, start=number, moves=every_act, joined=number > 1), draw()) for number in range(3)]
    yield back("dialogues that are refilled", *refilled, refilled[0], reused=True)
    for cpuct, q_0, k, sims in ((0.45, 0.25, 2, 30), (2.7, 0.0, 3, 40), (1.3, 0.5, 1, 20), (0.0, 0.0, 2, 12)):
        given = {"cpuct": cpuct, "q_0": q_0, "k": k, "sims": sims, "seed": rng.randrange(10**6)}
        given["start"] = [ACTS[2], ACTS[1]] if k == 3 else []
        yield {"name": f"searches, {cpuct}, {q_0}, {k}", "kind": "search", **given}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "kind" not in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    observed = {"select": _select, "back": _back, "search": _search}[case["kind"]]
    # Twice: another tree whose nodes have the same names.
    return {f"tree {number}": observed(case) for number in range(2 if "twice" in case else 1)}


def _tree(rng, **settings):
    from core.config import GameConfig, PromptConfig, SearchConfig
    from core.game import PersuasionGame
    from core.mcts import OpenLoopMCTS
    from core.model import ScriptedModel
    from core.planner import PromptedPlanner

    model, rules, prompts = ScriptedModel(12, rng), GameConfig(), PromptConfig()
    planner = PromptedPlanner(model, prompts, rules)
    return OpenLoopMCTS(PersuasionGame(model, rules), planner, SearchConfig(**settings), rng)


def _node(given, case):
    import numpy as np
    from core.tree import Node

    prior = np.zeros(14)[::2] if "strided" in case else np.zeros(7)
    prior[given["moves"]] = given["prior"]
    prior.setflags(write="read_only" not in case)
    return Node(tuple(given["moves"]), prior, list(given["values"]), list(given["counts"]), given["entered"])


def _session(turns):
    from core.session import DialogSession, Turn

    return DialogSession(Turn(*turn) for turn in turns)


def _name(acts):
    return "__".join(ACTS[act] for act in acts)


def _state(tree):
    """All that a tree remembers, in which the order of nodes has no meaning and that of dialogues has."""
    nodes = {
        name: {
            "moves": [int(move) for move in node.moves],
            "prior": node.prior.copy(),
            "values": [float(value) for value in node.values],
            "counts": [int(count) for count in node.counts],
            "entered": int(node.entered),
        }
        for name, node in tree.nodes.items()
    }
    kept = {
        name: [
            {"key": key, "turns": one.session.transcript(), "value": float(one.value), "visits": int(one.visits)}
            for key, one in dialogues.items()
        ]
        for name, dialogues in tree.realizations.items()
    }
    nodes, kept = (dict(sorted(part.items())) for part in (nodes, kept))
    return {"nodes": nodes, "kept": kept, "settings": repr(tree.configs), "attributes": _attributes(tree)}


def _attributes(tree):
    """The names of all that is kept."""
    realizations = [one for kept in tree.realizations.values() for one in kept.values()]
    every = [tree, *tree.nodes.values(), *realizations, *(one.session for one in realizations)]
    return sorted({name for one in every for name in vars(one)})


def _draws(tree):
    """What is drawn next, everywhere."""
    import random

    import numpy as np

    return [tree.rng.random(), random.random(), float(np.random.rand())]


def _select(case):
    from core.config import SearchConfig

    tree = _tree(Random(1), q_0=0.1)
    results = []
    for number, (given, cpuct) in enumerate(zip(case["nodes"], case["cpuct"], strict=True)):
        # The first is the root of a dialogue in which nothing was said, whose name is empty.
        name = _name([0] * number)
        if "refilled" in case:
            name = "other"
        node = _node(given, case)
        if "refilled" in case and number:
            kept = tree.nodes[name]
            kept.moves = node.moves
            kept.prior[:], kept.values[:], kept.counts[:] = node.prior, node.values, node.counts
        else:
            tree.nodes[name] = node
        if "replaced" in case:
            tree.configs = SearchConfig(cpuct=cpuct)
        tree.configs.cpuct = cpuct
        action, score = tree.find_best_action(name)
        results.append([operator.index(action), float(score)])
    # Every node again, in another order, with the last setting.
    again = [tree.find_best_action(name) for name in sorted(tree.nodes, reverse=True)]
    results += [[operator.index(action), float(score)] for action, score in again]
    return {"results": results, "state": _state(tree), "draws": _draws(tree)}


def _back(case):
    from core.session import PERSUADER
    from core.tree import Realization, Step

    settings = {"max_realizations": case.get("max_realizations", 20), "q_0": 0.2}
    tree = _tree(Random(1), **settings)
    for given in case["others"]:
        tree.nodes[_name(given["acts"])] = _node(given, case)
    for given in case["kept"]:
        session = _session(given["turns"])
        cache = tree.realizations.setdefault("__".join(session.acts(PERSUADER)), {})
        cache[session.transcript()] = Realization(session, given["value"], given["visits"])
    results, sessions = [], {}
    for given in case["searches"]:
        path, before = [], []
        for number, step in enumerate(given["path"]):
            acts = step["node"]["acts"]
            if _name(acts) not in tree.nodes:
                tree.nodes[_name(acts)] = _node(step["node"], case)
            session = _session(step["turns"])
            if "shared" in case:
                session = tree.realizations["__".join(session.acts(PERSUADER))][session.transcript()].session
            if "reused" in case:
                turns = session.turns
                session = sessions.setdefault(number, session)
                session.turns[:] = turns
            path.append(Step(_name(acts), step["action"], session))
            before.append([_name(acts), step["action"], session.transcript()])
        steps = list(path)
        tree.backpropagate(path, given["value"])
        after = [[step.hashable_state, step.action, step.session.transcript()] for step in path]
        untouched = after == before and all(one is other for one, other in zip(path, steps, strict=False))
        if "longer" in case:
            for step in path:
                step.session.add("Persuader", "other", "By the way.")
        results.append({"untouched": untouched, "state": _state(tree)})
    return {"results": results, "draws": _draws(tree)}


def _search(case):
    settings = {"cpuct": case["cpuct"], "q_0": case["q_0"], "max_realizations": case["k"]}
    tree = _tree(Random(case["seed"]), **settings)
    session = _session([])
    for act in case["start"]:
        session = tree.game.next_session(session, act)
    values = [tree.search(session) for _ in range(case["sims"])]
    return {"values": values, "state": _state(tree), "draws": _draws(tree), "turns": len(session.turns)}
