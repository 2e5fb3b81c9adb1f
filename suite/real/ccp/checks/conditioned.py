"""Relations asked of a model; pairs combined; words, answers and claims over relations and sizes; an experiment."""

import copy
import zlib
from types import SimpleNamespace

import numpy as np

CLASSES = ("entail", "contra", "neutral")


def cases(seed):
    generator = np.random.default_rng(seed)

    def pick(items, size):
        return [items[place] for place in generator.integers(len(items), size=size)]

    # Relations: words whose pairs have logits by a hash of their texts.
    words = (
        "Paris",
        " Paris",
        "Paris.",
        "paris",
        " in",
        "1934",
        " 1935,",
        "(1935)",
        "",
        " ",
        "\n",
        "...",
        "it's",
        "a b",
        "Zo\u00eb",
        "\ttab",
    )

    def relations(name, answers, sizes=(1, 5), levels=50, kind="str", batch=4, order=CLASSES, only=words, spread=6.0):
        found = []
        for length in answers:
            counts = generator.integers(sizes[0], sizes[1] + 1, size=length)
            numbers = [generator.integers(len(only), size=count).tolist() for count in counts]
            found.append([[[number, float(-generator.exponential())] for number in row] for row in numbers])
        return {
            "name": f"relations, {name}",
            "answers": found,
            "words": list(only),
            "kinds": [[kind if kind != "both" else pick(("str", "int"), 1)[0] for _ in row] for row in found],
            "levels": levels,
            "spread": spread,
            "batch": batch,
            "order": list(order),
            "salt": str(generator.integers(1000)),
        }

    yield relations("a few answers", (3, 4, 2))
    yield relations("one answer", (5,))
    yield relations("one token", (1,), sizes=(4, 4))
    yield relations("one alternative each", (4, 3), sizes=(1, 1))
    yield relations("two alternatives each", (4, 3), sizes=(2, 2))
    yield relations("no answer", ())
    yield relations("answers without tokens", (0, 3, 0))
    yield relations("tokens without alternatives", (6, 5), sizes=(0, 2))
    yield relations("twenty alternatives", (2,), sizes=(20, 20))
    yield relations("many tokens", (110, 1), sizes=(1, 2))
    yield relations("ties", (12, 9), levels=2)
    yield relations("all classes alike", (4,), levels=1)
    yield relations("classes nearly alike", (12, 9), levels=4, spread=3e-6)
    yield relations("numbers", (5, 4), kind="int")
    yield relations("numbers and words", (9, 8), kind="both", sizes=(0, 4))
    yield relations("other labels", (5, 4), order=("neutral", "contra", "entail"))
    yield relations("batches of one", (3, 4), batch=1)
    yield relations("large batches", (3, 4), batch=64)
    yield relations("words that strip to the same", (6,), only=("Paris", " Paris", "Paris.", "(Paris)", "\nParis "))

    # Different words that make one text if they are joined, for several separators.
    for separator in ("", " ", ", ", "-", "\n", "|"):
        joined = [text.replace("_", separator) for text in ("a_b", "a", "b_a", "it_was", "it", "was_it")]
        given = relations(f"words that join to the same with {separator!r}", (4,), sizes=(2, 2), only=joined)
        for row, places in zip(given["answers"][0], ((0, 1), (1, 2), (3, 4), (4, 5)), strict=True):
            for pair, place in zip(row, places, strict=True):
                pair[0] = place
        yield given

    # Uncertainties.
    def matrix(size, table):
        rows = [["" for _ in range(size)] for _ in range(size)]
        for place in range(size):
            rows[0][place], rows[place][0] = pick(table, 1)[0]
        rows[0][0] = pick((*CLASSES, "", None), 1)[0]
        return rows

    pairs = [(one, other) for one in CLASSES for other in CLASSES]

    def uncertainties(
        name,
        lengths,
        sizes=(1, 6),
        depth=2.0,
        table=tuple(pairs),
        tokens=("the", "Paris", "1934", " in"),
        claims=3,
        logs=None,
    ):
        answers, matrices, found, prefixed = [], [], [], []
        for length in lengths:
            counts = generator.integers(sizes[0], sizes[1] + 1, size=length)
            row = []
            for count in counts:
                values = (
                    np.maximum(-depth * generator.exponential(size=count), -1000).tolist()
                    if logs is None
                    else pick(logs, count)
                )
                row.append([list(pair) for pair in zip(pick(tokens, count), values, strict=True)])
            answers.append(row)
            matrices.append([matrix(count, table) for count in counts])
            ids = (
                [generator.integers(length, size=generator.integers(1, 6)).tolist() for _ in range(claims)]
                if length
                else []
            )
            found.append(ids)
            prefixed.append([[matrix(counts[place], table) for place in claim] for claim in ids])
        return {
            "name": f"uncertainties, {name}",
            "answers": answers,
            "matrices": matrices,
            "claims": found,
            "prefixed": prefixed,
            "stop": ["the", " in", 3],
        }

    yield uncertainties("a few answers", (5, 4, 6))
    yield uncertainties("one answer", (6,))
    yield uncertainties("one token", (1,))
    yield uncertainties("one token each", (1, 1, 1), claims=1)
    yield uncertainties("no answer", ())
    yield uncertainties("answers without tokens", (0, 3, 0))
    yield uncertainties("only answers without tokens", (0, 0))
    yield uncertainties("one alternative each", (5, 3), sizes=(1, 1))
    yield uncertainties("two alternatives each", (5, 3), sizes=(2, 2))
    yield uncertainties("twenty alternatives", (4, 3), sizes=(20, 20))
    yield uncertainties("many tokens", (150,), depth=0.5, sizes=(1, 3))
    yield uncertainties("many answers", tuple(generator.integers(0, 6, size=40).tolist()), sizes=(1, 3))
    yield uncertainties("answers without claims", (3, 4), claims=0)
    yield uncertainties("many claims", (8,), claims=20)
    for one, other in pairs:
        yield uncertainties(
            f"{one} and {other} alone", (4,), sizes=(2, 5), table=((one, other),), tokens=("Paris", "1934")
        )
    yield uncertainties(
        "entail and contra", (6, 3), table=(("entail", "entail"), ("contra", "contra")), tokens=("Paris",)
    )
    yield uncertainties("no function word", (6, 5), tokens=("Paris", "1934"))
    yield uncertainties("function words alone", (6, 5), tokens=("the", " in"))
    yield uncertainties("unlikely alternatives", (5, 4), depth=60.0)
    yield uncertainties("very unlikely alternatives", (4, 4), depth=300.0, sizes=(2, 4), claims=6)
    yield uncertainties("likely alternatives", (5, 4), depth=1e-3)
    yield uncertainties("the ends of the range", (5, 6), logs=(0.0, -1000.0, -999.0, -1e-12, -745.0), tokens=("Paris",))
    yield uncertainties(
        "far below what exponentials hold", (5, 4), logs=(-1000.0, -999.0, -998.5, -997.0), tokens=("Paris", "1934")
    )
    # What is neutral is the only one that exponentials hold.
    given = uncertainties("far below a neutral one", (1, 1), sizes=(4, 4), tokens=("Paris", "1934"), claims=1)
    for (row,), (rows,), ahead in zip(given["answers"], given["matrices"], given["prefixed"], strict=True):
        for place, relation in enumerate(("entail", "neutral", "contra", "entail")):
            row[place][1] = (-800.0, 0.0, -800.5, -801.0)[place]
            for table in (rows, *ahead[0]):
                table[0][place] = table[place][0] = relation
    yield given
    yield uncertainties("numbers for tokens", (5, 4), tokens=(3, 4, 5))
    yield uncertainties("empty tokens", (5, 4), tokens=("", "the"))
    given = uncertainties("claims of all kinds", (6, 4))
    given["claims"] = [[[0], [5], [0, 1, 2, 3, 4, 5], [3, 3, 3], [4, 0, 2]], [[1, 0]]]
    given["prefixed"] = [
        [[matrix(len(row[place]), pairs) for place in claim] for claim in claims]
        for row, claims in zip(given["answers"], given["claims"], strict=True)
    ]
    yield given
    # By claim: one too few, one too many, as many as there should be, but not of each claim, and none.
    for changes in ((0, -1), (0, 1), (1, -1), (0, -5)):
        yield uncertainties(f"changes of {changes} in numbers of matrices", (4, 3), claims=2) | {"changes": changes}
    # Contradictions that hardly count by themselves, but together.
    given = uncertainties(
        "many small contradictions", (150,), sizes=(2, 2), table=(("contra", "contra"),), tokens=("Paris",), claims=1
    )
    for row in given["answers"][0]:
        row[0][1], row[1][1] = 0.0, -24.0
    given["claims"] = [[list(range(50, 100))]]
    given["prefixed"] = [[given["matrices"][0][50:100]]]
    yield given
    for shared in ("alternatives", "matrices"):
        given = uncertainties(f"one object for all {shared}", (4, 4), sizes=(3, 3), tokens=("Paris", "1934"))
        # One alternative for and one against, so that numbers depend on how probable both are.
        given["matrices"][0][0] = [["", "entail", "contra"], ["entail", "", ""], ["contra", "", ""]]
        yield given | {"shared": shared}
    yield {
        "name": "products",
        "rows": [
            (-generator.exponential(size=size) * scale).tolist()
            for size, scale in ((0, 1), (1, 1), (2, 0.3), (9, 0.1), (150, 0.01), (150, 20.0), (3, 1000 / 4), (4, 1e-9))
        ],
    }
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    if "rows" in case:
        return _products(case)
    return _relations(case) if "words" in case else _uncertainties(case)


def _products(case):
    from lm_polygraph.estimators.claim.claim_conditioned_probability import ClaimConditionedProbabilityClaim
    from lm_polygraph.estimators.claim_conditioned_probability import ClaimConditionedProbability

    found = []
    for estimator in (ClaimConditionedProbability(), ClaimConditionedProbabilityClaim()):
        kept = dict(vars(estimator))
        for row in [*case["rows"], [-1100.0, 0.0], [0.0, -1e-12]]:
            given, array = list(row), np.repeat(np.array(row, dtype=np.float64), 2)[::2]
            results = [estimator._reduce(given), estimator._reduce(array)]
            found.append([float(value) for value in results])
            found.append([_number(value) for value in results] + [given == row, array.tolist() == row])
        table = [[estimator._combine_nli(one, other) for one in CLASSES] for other in CLASSES]
        found.append([table, vars(estimator) == kept])
    return {"found": found}


def _number(value):
    return isinstance(value, float | np.floating) or (
        isinstance(value, int | np.integer) and not isinstance(value, bool)
    )


class _Encoded(dict):
    def to(self, device):
        return self


class _Deberta:
    """A classifier of pairs, that a dictionary can hold by its identity."""

    device = "cpu"


def _classifier(case, order, batch, salt):
    """Logits by a hash of both texts in their order."""
    import torch

    labels = {"entail": "ENTAILMENT", "contra": "CONTRADICTION", "neutral": "NEUTRAL"}
    config = SimpleNamespace(label2id={labels[name]: place for place, name in enumerate(order)})

    def tokenizer(pairs, padding=None, return_tensors=None):
        rows = []
        for one, other in pairs:
            numbers = [zlib.crc32(f"{salt}|{place}|{one!r}|{other!r}".encode()) % 1000003 for place in range(3)]
            rows.append([case["spread"] * (number % case["levels"]) / case["levels"] for number in numbers])
        return _Encoded(numbers=torch.tensor(rows, dtype=torch.float64).float())

    class Model:
        def __init__(self):
            self.config = config

        def __call__(self, numbers):
            return SimpleNamespace(logits=numbers.clone())

    found = _Deberta()
    found.batch_size, found.deberta_tokenizer, found.deberta = batch, tokenizer, Model()
    return found


def _relations(case):
    from lm_polygraph.stat_calculators.greedy_alternatives_nli import GreedyAlternativesNLICalculator

    words = case["words"]
    answers = [
        [
            [(words[number] if kind == "str" else number, logp) for number, logp in row]
            for kind, row in zip(kinds, answer, strict=True)
        ]
        for kinds, answer in zip(case["kinds"], case["answers"], strict=True)
    ]
    decoder = SimpleNamespace(tokenizer=SimpleNamespace(decode=lambda ids: "".join(words[number] for number in ids)))
    model = decoder if any("int" in kinds for kinds in case["kinds"]) else None
    first = _classifier(case, case["order"], case["batch"], case["salt"])
    calculator = GreedyAlternativesNLICalculator(first)
    kept = dict(vars(calculator))
    dependencies = {"greedy_tokens_alternatives": answers}
    before = copy.deepcopy(answers)
    key = "greedy_tokens_alternatives_nli"
    texts = ["text"] * len(answers)
    results = [calculator(dependencies, texts, model)]
    found = [copy.deepcopy(results[0])]
    facts = [sorted(results[0]), _nested(results[0][key]), vars(calculator) == kept]
    for answer in results[0][key]:
        for rows in answer:
            for row in rows:
                row[:] = ["other"] * len(row)
    results.append(calculator(dependencies, texts=[], model=model, max_new_tokens=3, more=1))
    # Another classifier in the same object, and answers turned round.
    second = _classifier(case, case["order"][::-1], case["batch"] + 1, case["salt"] + "x")
    calculator.nli_model = second
    results.append(calculator({"greedy_tokens_alternatives": answers[::-1]}, [], model, 100))
    # The same classifier says something else.
    second.deberta_tokenizer = first.deberta_tokenizer
    results.append(calculator({"greedy_tokens_alternatives": answers[::-1]}, [], model, 100))
    facts += [
        answers == before,
        texts == ["text"] * len(answers),
        list(dependencies) == ["greedy_tokens_alternatives"],
        [type(pair) is tuple for answer in answers for row in answer for pair in row],
    ]
    return {"found": [*found, *results[1:]], "facts": facts}


def _nested(answers):
    lists = isinstance(answers, list) and all(isinstance(answer, list) for answer in answers)
    lists = lists and all(
        isinstance(rows, list) and all(isinstance(row, list) for row in rows) for answer in answers for rows in answer
    )
    return lists and all(type(item) is str for answer in answers for rows in answer for row in rows for item in row)


def _uncertainties(case):
    from lm_polygraph.estimators.claim.claim_conditioned_probability import ClaimConditionedProbabilityClaim
    from lm_polygraph.estimators.claim_conditioned_probability import ClaimConditionedProbability
    from lm_polygraph.stat_calculators.extract_claims import Claim

    answers = [[[tuple(pair) for pair in row] for row in answer] for answer in case["answers"]]
    matrices, prefixed = copy.deepcopy(case["matrices"]), copy.deepcopy(case["prefixed"])
    # The same object in all places, within an answer and among answers.
    if case.get("shared") == "alternatives":
        answers = [[answers[0][0]] * len(answers[0])] * len(answers)
    if case.get("shared") == "matrices":
        matrices = [[matrices[0][0]] * len(matrices[0])] * len(matrices)
        prefixed = [[[matrices[0][0]] * len(ids) for ids in row] for row in case["claims"]]
    claims = [[Claim("text", "sentence", list(ids)) for ids in row] for row in case["claims"]]
    stop = list(case["stop"])
    # Only the greedy token may be a function word; the function does not tell what it was asked.
    estimator, by_claim = (
        ClaimConditionedProbability(),
        ClaimConditionedProbabilityClaim(is_stopword=lambda t: t in stop),
    )
    if "changes" in case:
        for row in prefixed:
            row[:] = [
                item[:change] if change < 0 else item + change * item[:1]
                for item, change in zip(row, case["changes"], strict=True)
            ]
        try:
            by_claim._claim_ccp_fact_pref(answers, prefixed, claims)
        except AssertionError:
            return {"raised": "AssertionError"}
        return {"raised": "nothing"}
    before = copy.deepcopy((answers, matrices, prefixed, claims))
    kept = [dict(vars(estimator)), dict(vars(by_claim))]
    chosen = [[row[0][0] for row in answer] for answer in answers]
    if len(answers) % 2:
        chosen = [np.arange(len(answer)) for answer in answers]
    stats = {
        "greedy_tokens": chosen,
        "greedy_tokens_alternatives": answers,
        "greedy_tokens_alternatives_nli": matrices,
    }
    found, facts = [], []
    for _ in range(2):
        result = estimator(stats)
        found.append(np.array(result))
        facts.append([isinstance(result, np.ndarray), str(result.dtype), list(result.shape), len(stats)])
        result[...] = 7
    turned = {key: items[::-1] for key, items in stats.items()}
    found.append(np.array(estimator(turned)))
    for _ in range(2):
        plain = by_claim._claim_ccp_no_context(answers, matrices, claims)
        ahead = by_claim._claim_ccp_fact_pref(answers, prefixed, claims)
        for result in (plain, ahead):
            found.append([[float(value) for value in row] for row in result])
            facts.append([isinstance(result, list), [isinstance(row, list) for row in result]])
            facts.append([_number(value) for row in result for value in row])
            for row in result:
                row.append(7.0)
    # Other answers with the same object, the last ones first.
    for rows, measure in ((matrices, by_claim._claim_ccp_no_context), (prefixed, by_claim._claim_ccp_fact_pref)):
        turned = measure(answers[::-1], rows[::-1], claims[::-1])
        found.append([[float(value) for value in row] for row in turned])
    # By the package's own call, and with another function for function words.
    everything = {**stats, "claims": claims, "greedy_tokens_alternatives_fact_pref_nli": prefixed}
    for context in ("no_context", "fact_pref"):
        by_claim.nli_context = context
        by_claim.is_stopword = kept[1]["is_stopword"]
        found.append(by_claim(everything))
        by_claim.is_stopword = lambda t: t not in stop
        found.append(by_claim(everything))
    by_claim.is_stopword, by_claim.nli_context = kept[1]["is_stopword"], kept[1]["nli_context"]
    # Single words, with the package's own list of function words, too.
    usual = ClaimConditionedProbabilityClaim("fact_pref")
    for answer, rows in list(zip(answers, matrices, strict=True))[:5]:
        for alternatives, matrix in list(zip(answer, rows, strict=True))[:12]:
            values = [by_claim._token_ccp(alternatives, matrix), usual._token_ccp(alternatives, matrix)]
            found.append([float(value) for value in values])
            facts.append([_number(value) for value in values])
    facts.append([answers == before[0], matrices == before[1], prefixed == before[2], claims == before[3]])
    facts.append([vars(estimator) == kept[0], vars(by_claim) == kept[1], stop == case["stop"]])
    return {"found": found, "facts": facts}
