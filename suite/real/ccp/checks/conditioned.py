"""Relations asked of a classifier; pairs combined; tokens, answers and claims; the experiment."""

import copy
import zlib
from types import SimpleNamespace

import numpy as np

CLASSES = ("entail", "contra", "neutral")
WORDS = (
    "Paris",
    " Paris",
    "Paris.",
    "paris",
    " in",
    "1934",
    " 1935,",
    "(1935)",
    "...",
    "it's",
    "a b",
    "Zo\u00eb",
    "\ttab",
)


def cases(seed):
    generator = np.random.default_rng(seed)

    def pick(items, size):
        return [items[place] for place in generator.integers(len(items), size=size)]

    def relations(name, answers, sizes=(1, 5), levels=10**6, ids=False, batch=4, order=CLASSES, words=WORDS):
        found = []
        for length in answers:
            counts = generator.integers(sizes[0], sizes[1] + 1, size=length)
            numbers = [generator.integers(len(words), size=count).tolist() for count in counts]
            found.append([[[number, float(-generator.exponential())] for number in row] for row in numbers])
        return {
            "name": f"relations, {name}",
            "answers": found,
            "words": list(words),
            "ids": ids,
            "levels": levels,
            "batch": batch,
            "order": list(order),
            "salt": str(generator.integers(1000)),
        }

    yield relations("a few answers", (3, 4, 2))
    yield relations("one answer", (5,))
    yield relations("two alternatives each", (4, 3), sizes=(2, 2))
    yield relations("ten alternatives", (2, 2), sizes=(10, 10))
    yield relations("many tokens", (30,), sizes=(1, 2))
    yield relations("ids of tokens", (5, 4), ids=True)
    yield relations("other labels", (5, 4), order=("neutral", "contra", "entail"))
    yield relations("batches of one", (3, 4), batch=1)
    yield relations("large batches", (3, 4), batch=64)
    yield relations("words that strip to the same", (6,), words=("Paris", " Paris", "Paris.", "(Paris)", "\nParis "))
    yield relations("no answer", ()) | {"edge": True}
    yield relations("answers without tokens", (0, 3, 0)) | {"edge": True}
    yield relations("tokens without alternatives", (6, 5), sizes=(0, 2)) | {"edge": True}
    yield relations("equal probabilities", (9, 9), levels=2) | {"edge": True}
    yield relations("another classifier", (4, 3)) | {"again": True, "edge": True}

    pairs = tuple((one, other) for one in CLASSES for other in CLASSES)

    def matrix(size, table):
        rows = [["" for _ in range(size)] for _ in range(size)]
        for place in range(size):
            rows[0][place], rows[place][0] = pick(table, 1)[0]
        rows[0][0] = pick(CLASSES, 1)[0]
        return rows

    def uncertainties(
        name, lengths, sizes=(1, 6), depth=2.0, table=pairs, tokens=("the", "Paris", "1934", " in"), claims=3
    ):
        answers, matrices, found, prefixed = [], [], [], []
        for length in lengths:
            counts = generator.integers(sizes[0], sizes[1] + 1, size=length)
            row = []
            for count in counts:
                values = np.maximum(-depth * generator.exponential(size=count), -1000).tolist()
                row.append([list(pair) for pair in zip(pick(tokens, count), values, strict=True)])
            answers.append(row)
            matrices.append([matrix(count, table) for count in counts])
            ids = [
                generator.permutation(length)[: generator.integers(1, 6)].tolist()
                for _ in range(claims if length else 0)
            ]
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
    yield uncertainties("one token each", (1, 1, 1), claims=1)
    yield uncertainties("two alternatives each", (5, 3), sizes=(2, 2))
    yield uncertainties("ten alternatives", (4, 3), sizes=(10, 10))
    yield uncertainties("many tokens", (50,), depth=0.5, sizes=(1, 3))
    yield uncertainties("many answers", generator.integers(1, 6, size=12).tolist(), sizes=(1, 3))
    yield uncertainties("many claims", (8,), claims=12)
    for one, other in pairs:
        table = ((one, other), (other, one), ("entail", "entail"), ("contra", "contra"))
        yield uncertainties(f"{one} and {other}", (4,), sizes=(3, 5), table=table, tokens=("Paris", "1934"))
    yield uncertainties("no function word", (6, 5), tokens=("Paris", "1934"))
    yield uncertainties("unlikely alternatives", (5, 4), depth=60.0, claims=5)
    yield uncertainties("likely alternatives", (5, 4), depth=1e-3)
    yield uncertainties("ids of tokens", (5, 4), tokens=(3, 4, 5))
    # What is neutral is the only one that exponentials hold.
    given = uncertainties("less than exponentials hold", (1, 1), sizes=(4, 4), tokens=("Paris", "1934"), claims=1)
    for (row,), (rows,), ahead in zip(given["answers"], given["matrices"], given["prefixed"], strict=True):
        for place, relation in enumerate(("entail", "neutral", "contra", "entail")):
            row[place][1] = (-800.0, 0.0, -800.5, -801.0)[place] - generator.random()
            for table in (rows, *ahead[0]):
                table[0][place] = table[place][0] = relation
    yield given
    yield uncertainties("no answer", ()) | {"edge": True}
    yield uncertainties("answers without tokens", (0, 3, 0)) | {"edge": True}
    yield uncertainties("answers without claims", (3, 4), claims=0) | {"edge": True}
    yield uncertainties("other function words", (5, 4, 3)) | {"again": True, "edge": True}
    for change in (-1, 1):
        yield uncertainties(f"{change} matrices too many", (4, 3), claims=2) | {"change": change, "edge": True}
    sizes = ((1, 1), (2, 0.3), (9, 0.1), (50, 0.01), (50, 20.0), (3, 250), (4, 1e-6))
    yield {"name": "products", "rows": [(-generator.exponential(size=size) * scale).tolist() for size, scale in sizes]}
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

    found, rows = [], copy.deepcopy(case["rows"])
    for estimator in (ClaimConditionedProbability(), ClaimConditionedProbabilityClaim()):
        found.append([float(estimator._reduce(row)) for row in rows])
        found.append([[estimator._combine_nli(one, other) for one in CLASSES] for other in CLASSES])
    return {"found": found, "unchanged": rows == case["rows"]}


class _Encoded(dict):
    def to(self, device):
        return self


class _Deberta:
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
            rows.append([6.0 * (number % case["levels"]) / case["levels"] for number in numbers])
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
        [[(number if case["ids"] else words[number], logp) for number, logp in row] for row in answer]
        for answer in case["answers"]
    ]
    model = SimpleNamespace(tokenizer=SimpleNamespace(decode=lambda ids: "".join(words[number] for number in ids)))
    calculator = GreedyAlternativesNLICalculator(_classifier(case, case["order"], case["batch"], case["salt"]))
    dependencies = {"greedy_tokens_alternatives": answers}
    texts = [f"text {number}" for number in range(len(answers))]
    before = copy.deepcopy((answers, texts))
    found = [calculator(dependencies, texts, model)]
    if case.get("again"):
        calculator.nli_model = _classifier(case, case["order"][::-1], case["batch"] + 1, case["salt"] + "x")
        found.append(calculator({"greedy_tokens_alternatives": answers[::-1]}, texts[::-1], model))
        found.append((answers, texts) == before)
    return {"found": found}


def _uncertainties(case):
    from lm_polygraph.estimators.claim.claim_conditioned_probability import ClaimConditionedProbabilityClaim
    from lm_polygraph.estimators.claim_conditioned_probability import ClaimConditionedProbability
    from lm_polygraph.stat_calculators.extract_claims import Claim

    answers = [[[tuple(pair) for pair in row] for row in answer] for answer in case["answers"]]
    matrices, prefixed = copy.deepcopy(case["matrices"]), copy.deepcopy(case["prefixed"])
    claims = [[Claim("text", "sentence", list(ids)) for ids in row] for row in case["claims"]]
    stop = case["stop"]
    by_claim = ClaimConditionedProbabilityClaim(is_stopword=lambda token: token in stop)
    if "change" in case:
        matrices = prefixed[0][-1]
        prefixed[0][-1] = matrices[:-1] if case["change"] < 0 else matrices + matrices[:1]
        try:
            by_claim._claim_ccp_fact_pref(answers, prefixed, claims)
        except AssertionError:
            return {"raised": "AssertionError"}
        return {"raised": "nothing"}
    before = copy.deepcopy((answers, matrices, prefixed, claims))
    whole = ClaimConditionedProbability()

    def measured(answers, matrices, prefixed, claims):
        stats = {
            "greedy_tokens": [[row[0][0] for row in answer] for answer in answers],
            "greedy_tokens_alternatives": answers,
            "greedy_tokens_alternatives_nli": matrices,
        }
        plain = by_claim._claim_ccp_no_context(answers, matrices, claims)
        ahead = by_claim._claim_ccp_fact_pref(answers, prefixed, claims)
        words = [
            float(by_claim._token_ccp(*pair))
            for answer, rows in zip(answers[:3], matrices[:3], strict=True)
            for pair in list(zip(answer, rows, strict=True))[:6]
        ]
        by_claims = [[[float(value) for value in row] for row in result] for result in (plain, ahead)]
        return [np.array(whole(stats)), *by_claims, words]

    found = measured(answers, matrices, prefixed, claims)
    if case.get("again"):
        by_claim.is_stopword = lambda token: token not in stop
        found += measured(answers[::-1], matrices[::-1], prefixed[::-1], claims[::-1])
        found.append((answers, matrices, prefixed, claims) == before)
    return {"found": found}
