"""The guided loss: cosines, whole losses with gradients, ties, foreign tokens, what is called; then the experiment."""

import torch
from torch.nn import functional as F

TEXTS = 70
WORDS = [f"w{number}" for number in range(TEXTS)]


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def cosines(name, one, two, dtype="float64", **more):
        return {"name": f"cosines, {name}", "one": one, "two": two, "dtypes": [dtype], **more}

    yield cosines("a few", normal(4, 6), normal(3, 6))
    yield cosines("in single precision", normal(4, 6), normal(7, 6), "float32")
    yield cosines("one each", normal(1, 5), normal(1, 5))
    yield cosines("one and many", normal(1, 5), normal(40, 5))
    yield cosines("many and one", normal(40, 5), normal(1, 5))
    yield cosines("as many as wide", normal(5, 5), normal(5, 5))
    yield cosines("one number", normal(4, 1), normal(3, 1), grad=False)
    yield cosines("64 wide", normal(4, 64), normal(3, 64), "float32")
    yield cosines("with itself", normal(5, 4), None)
    yield cosines("with itself, in single precision", normal(5, 4), None, "float32")
    yield cosines("large and small", 400 * normal(4, 3).clamp(-1, 1), 1e-3 * (1 + normal(5, 3).abs()))
    yield cosines("small", 1e-3 * (1 + normal(4, 3).abs()), 1e-3 * (1 + normal(5, 3).abs()))
    yield cosines("of the least norm", *(1.001e-3 * F.normalize(normal(rows, 3), dim=-1) for rows in (4, 5)))
    yield cosines("small, in single precision", 1e-3 * normal(4, 3).sign(), normal(5, 3), "float32", grad=False)
    one, two = normal(4, 6), normal(3, 6)
    one[1] = 0
    two[2] = 0
    for dtype in ("float32", "float64"):
        yield cosines(f"zeros, {dtype}", one, two, dtype, grad=False)
    for layout in ("transposed", "spread", "expanded"):
        yield cosines(layout, normal(4, 6), normal(3, 6), layout=layout)

    def embeddings(rows, columns, width):
        return normal(columns, rows, width)

    def guides(rows, columns, width, close=0.0):
        """What the guide makes of texts; no similarity is near the threshold that it is compared with but itself."""
        while True:
            found = embeddings(rows, columns, width)
            found[1] = close * found[0] + found[1]
            unit = found / found.norm(dim=-1, keepdim=True)
            threshold = (unit[0] * unit[1]).sum(-1)[:, None]
            sides = [(unit[0], unit[1]), (unit[0], unit[0]), (unit[1], unit[1])] + [(unit[0], unit[-1])] * (columns > 2)
            gaps = torch.cat([one @ two.T - threshold for one, two in sides], dim=1).abs()
            gaps[:, :rows].fill_diagonal_(1)
            if gaps.min() > 2e-5:
                return found

    def exact(rows, columns, width):
        """Four entries of the same magnitude, in places that overlap."""
        found = torch.zeros(columns, rows, width, dtype=torch.float64)
        for column in found:
            for row in column:
                places = torch.randperm(width, generator=generator)[:4]
                signs = torch.randint(2, (4,), generator=generator).double() * 2 - 1
                row[places] = signs * 2.0 ** int(torch.randint(-3, 4, (), generator=generator))
        return found

    def near(rows):
        """All similarities that are compared are a quarter, up to 1.2e-5, which those of the pairs are exactly."""
        found = 0.25 + 1.2e-5 * torch.randn(3 * rows, 3 * rows, generator=generator, dtype=torch.float64).sign().triu(1)
        found = found.triu(1) + found.triu(1).T + torch.eye(3 * rows, dtype=torch.float64)
        for place in range(rows):
            found[place, rows + place] = found[rows + place, place] = 0.25
        return torch.linalg.cholesky(found).view(3, rows, 3 * rows)

    def case(name, rows=6, columns=2, width=5, guide_width=7, dtypes=("float64", "float64"), guide=None, **more):
        if guide is None:
            guide = guides(rows, columns, guide_width, more.pop("close", 0.0))
        return {
            "name": f"loss, {name}",
            "model": embeddings(rows, columns, width),
            "guide": guide,
            "dtypes": list(dtypes),
            "temperature": 0.3,
            "later": [],
            "grad": True,
            **more,
        }

    for dtype in ("float64", "float32"):
        for columns in (2, 3):
            yield case(f"{columns} columns, {dtype}", columns=columns, dtypes=(dtype, dtype))
            yield case(f"{columns} columns, close pairs, {dtype}", columns=columns, close=1.0, dtypes=(dtype, dtype))
    yield case("a guide in single precision", columns=3, dtypes=("float64", "float32"), close=0.5)
    yield case("a guide in double precision", columns=3, dtypes=("float32", "float64"), close=0.5)
    for columns in (2, 3):
        # Loops over pairs are slow, but right.
        for rows in (1, 2, 3, 64 if columns == 2 else 40):
            yield case(f"{rows} rows, {columns} columns", rows=rows, columns=columns, close=1.0)
    yield case("all is kept but itself", columns=3, close=30.0, guide_width=12)
    yield case("much is masked", columns=3, close=-0.8, rows=9)
    yield case("narrow embeddings", width=1, guide_width=6, columns=3)
    yield case("embeddings of two numbers", width=2, guide_width=3, columns=3, close=0.5)
    yield case("wide embeddings", width=64, guide_width=64, columns=3, close=0.3)
    yield case("of the same width", width=4, guide_width=4, columns=3, close=0.5)
    for temperature in (0.01, 0.05, 1, 10.0):
        yield case(f"a temperature of {temperature}", columns=3, temperature=temperature, close=0.5)
    given = case("a temperature of 0.01 in single precision", temperature=0.01, dtypes=("float32",) * 2, width=32)
    # Exponentials of these are beyond single precision.
    given["model"][1] = given["model"][0] + 0.3 * given["model"][1]
    yield given
    given = case("a temperature of 0.01, opposite positives", temperature=0.01, columns=3, close=1.0)
    given["model"][1] = -given["model"][0] + 0.1 * given["model"][1]
    yield given
    given = case("a temperature of 0.01, all of the model close", temperature=0.01, columns=3, close=0.5)
    given["model"] = given["model"][0, 0] + 0.1 * given["model"]
    yield given
    yield case("similarities near thresholds", columns=3, guide=near(6))
    given = case("the default temperature", temperature=None, columns=3, close=1.0)
    yield given
    for columns in (2, 3):
        for width in (5, 6, 9):
            yield case(
                f"ties, {columns} columns, {width} wide", rows=12, columns=columns, guide=exact(12, columns, width)
            )
    yield case("ties in single precision", columns=3, rows=12, dtypes=("float32",) * 2, guide=exact(12, 3, 6))
    guide = exact(8, 3, 8)
    guide[1] = guide[0] * 2
    yield case("positives that equal anchors", rows=8, columns=3, guide=guide)
    guide = exact(8, 3, 8)
    guide[1] = -guide[0]
    yield case("positives that oppose anchors", rows=8, columns=3, guide=guide)
    guide = exact(8, 3, 8)
    guide[2] = guide[1]
    yield case("negatives that equal positives", rows=8, columns=3, guide=guide)
    guide = exact(1, 2, 4)[:, [0, 0, 0, 0]]
    yield case("all texts are alike", rows=4, guide=guide)
    guide = exact(1, 2, 4)
    guide[1] = guide[0]
    yield case("one row that equals its positive", rows=1, guide=guide)
    guide = exact(6, 3, 8)
    guide[1, :3] = 0
    guide[0, 4] = 0
    guide[2, 5] = 0
    yield case("zeros of the guide", rows=6, columns=3, guide=guide)
    given = case("zeros of the model", columns=3, close=1.0, grad=False)
    given["model"][0, 1] = 0
    given["model"][2, 2] = 0
    yield given
    given = case("large and small embeddings", columns=3, close=1.0)
    for name in ("model", "guide"):
        scale = 10 ** (4 * torch.rand(*given[name].shape[:2], 1, generator=generator, dtype=torch.float64) - 2)
        given[name] = given[name] * scale
    yield given
    for columns in (2, 3):
        more = {"columns": columns, "close": 0.5}
        yield case(f"foreign tokens, {columns} columns", foreign=True, **more)
        yield case(f"foreign tokens, no gradients, {columns} columns", foreign=True, grad=False, **more)
        yield case(f"a tokenizer of its own, {columns} columns", foreign=True, own=True, **more)
        yield case(f"a guide of shorter texts, {columns} columns", shorter=True, **more)
        yield case(f"no gradients, {columns} columns", grad=False, **more)
        yield case(f"evaluation, {columns} columns", train=False, dropout=0.5, **more)
    yield case("dropout", columns=3, width=24, close=0.5, dropout=0.3)
    yield case("dropout of the guide", columns=3, guide=exact(8, 3, 6), rows=8, guide_dropout=True)
    yield case("a tuple, and labels", columns=3, tuple=True, labels=torch.zeros(2).long())
    yield case("labels of no rows", columns=3, labels=torch.zeros(0))
    yield case("labels by columns", columns=3, labels=torch.arange(6.0).view(2, 3).T)
    later = [
        {"temperature": 2.0},
        {"rows": 3},
        {"must_retokenize": True},
        {"temperature": 1, "columns": 2},
        {"grad": False},
        {"must_retokenize": False, "grad": True},
    ]
    yield case("settings that change", columns=3, close=0.5, foreign=True, later=later[:2] + later[3:5])
    yield case("reading anew", columns=3, close=0.5, alike=True, later=later)
    yield case("models that change", columns=3, close=0.5, later=[{"move": True}, {"move": True}])
    # The model may guide itself; it is called again all the same, and drops other texts then.
    guide = guides(6, 3, 7, 0.5)
    given = case("a model that guides itself", columns=3, guide=guide, same=True, alike=True, later=later[2:3])
    yield given | {"model": guide}
    guide = exact(8, 3, 6)
    given = case("dropout of both", rows=8, columns=3, guide=guide, same=True, dropout="exact", grad=False)
    yield given | {"model": guide}
    yield case("the same features twice", columns=3, width=24, close=0.5, dropout=0.3, twice=True)
    yield case("gradients that were there before", columns=3, close=0.5, before=True)
    for count in (1, 4, 5):
        yield case(f"{count} columns", columns=count, guide=normal(count, 6, 5), refused=True)
    yield {"name": "experiment", "seed_of_experiment": seed % 1000}


def observe(case):
    if "seed_of_experiment" in case:
        from experiment import run

        return {"experiment": run(case["seed_of_experiment"])}
    numbers, facts = _cosines(case) if "one" in case else _losses(case)
    exact = all(dtype == "float64" for dtype in case["dtypes"])
    return {"double" if exact else "single": numbers, "facts": facts}


def _laid_out(item, layout):
    if layout == "transposed":
        return item.mT.contiguous().mT
    if layout == "expanded":
        return item[:1].clone().expand_as(item)
    if layout == "spread":
        return item.new_zeros(*item.shape[:-1], 2 * item.shape[-1])[..., ::2].copy_(item)
    return item.clone()


def _loss_of(model, guide, *more):
    from sentence_transformers.losses.GISTEmbedLoss import GISTEmbedLoss

    return GISTEmbedLoss(model, guide, *more)


def _sequence(table, tokenizer, longest=16, log=None):
    from sentence_transformers.SentenceTransformer import SentenceTransformer

    class Sequence(SentenceTransformer):
        def tokenize(self, texts):
            if log is not None:
                log.append(["method", "tokenize", type(texts).__name__, list(texts)])
            return super().tokenize(texts)

    return Sequence(table, tokenizer=tokenizer, max_seq_length=longest)


def _table(values, tokenizer, log, name, dropout=0.0):
    """A model that gives text number i, a single word, row i of values, by the token that the word is."""
    from sentence_transformers.models import Transformer

    class Table(Transformer):
        def __init__(self):
            super().__init__()
            weight = values.new_zeros(len(tokenizer.words), values.shape[-1])
            for number, row in enumerate(values):
                weight[tokenizer.vocab[WORDS[number]]] = row
            self.weight = torch.nn.Parameter(weight)

        def forward(self, features):
            ids = features["input_ids"]
            log.append([name, sorted(features), ids.tolist(), torch.is_grad_enabled(), self.training])
            log[-1].append(id(features))
            found = self.weight[ids[:, 1]]
            if dropout == "exact":
                # What is dropped are whole texts, so that what is left is exact.
                found = found * (torch.rand(len(found), 1) < 0.7 if self.training else 1)
            else:
                found = torch.nn.functional.dropout(found, dropout, self.training)
            return {"token_embeddings": found * 3, "sentence_embedding": found}

    return Table()


def _cosines(case):
    from encoder import Words

    tokenizer = Words(WORDS)
    model = _sequence(_table(torch.ones(1, 1), tokenizer, [], ""), tokenizer)
    loss_of = _loss_of(model, model)
    dtype = getattr(torch, case["dtypes"][0])
    one = _laid_out(case["one"].to(dtype), case.get("layout"))
    two = one if case["two"] is None else _laid_out(case["two"].to(dtype), case.get("layout"))
    kept = [one.clone(), two.clone()]
    wanted = case.get("grad", True)
    for item in (one, two):
        item.requires_grad_(wanted)
    before = list(vars(loss_of))
    found = loss_of.sim_matrix(one, two)
    facts = [str(found.dtype), list(found.shape), found.requires_grad, list(vars(loss_of)) == before]
    numbers = [found.detach().clone()]
    if wanted:
        slope = torch.linspace(-1, 2, found.numel(), dtype=dtype).view_as(found)
        (found * slope).sum().backward()
        # Small embeddings have large gradients, so these are given times the size of embeddings.
        numbers += [item.grad * item.detach().abs().amax(dim=-1, keepdim=True) for item in (one, two)]
    with torch.no_grad():
        found.fill_(2.0)
    facts += [torch.equal(item.detach(), old) for item, old in zip((one, two), kept, strict=True)]
    return numbers, facts


class _Tokens:
    """A tokenizer that notes what it is asked for."""

    def __init__(self, words, log, name):
        from encoder import Words

        self.inner, self.log, self.name = Words(words), log, name
        self.words, self.vocab = self.inner.words, self.inner.vocab

    def __call__(self, texts, longest):
        self.log.append([self.name, "tokenize", type(texts).__name__, list(texts), longest])
        return self.inner(texts, longest) | {"token_type_ids": torch.zeros(len(texts), 3, dtype=torch.long)}

    def batch_decode(self, ids, skip_special_tokens=False, **more):
        self.log.append([self.name, "decode", torch.as_tensor(ids).tolist(), bool(skip_special_tokens)])
        return self.inner.batch_decode(torch.as_tensor(ids), skip_special_tokens)


def _losses(case):
    log = []
    columns, rows, _ = case["model"].shape
    foreign = case.get("foreign", False)
    texts = torch.arange(columns * rows).view(columns, rows)
    if columns * rows > TEXTS:
        # 64 rows: there are not as many words, so each column has those of its own model.
        return _of_columns(case, log)
    ours = _Tokens(WORDS, log, "model")
    theirs = _Tokens(WORDS[::-1], log, "guide") if foreign else ours
    given, guide_dtype = (getattr(torch, dtype) for dtype in case["dtypes"])
    table = _table(case["model"].flatten(0, 1).to(given), ours, log, "model", case.get("dropout", 0.0))
    dropout = "exact" if case.get("guide_dropout") else 0.0
    other = _table(case["guide"].flatten(0, 1).to(guide_dtype), theirs, log, "guide", dropout)
    model = _sequence(table, ours, log=log)
    guide = model if case.get("same") else _sequence(other, theirs, 9 if case.get("shorter") else 16, log)
    more = [] if case["temperature"] is None else [case["temperature"]]
    loss_of = _loss_of(model, guide, *more).train(case.get("train", True))
    features = []
    for column in texts:
        ids = [[1, ours.vocab[WORDS[number]], 2, 0] for number in column.tolist()]
        mask = torch.tensor([[1, 1, 1, 0]] * rows)
        features.append({"input_ids": torch.tensor(ids), "attention_mask": mask, "place": torch.arange(rows)})
    if case.get("refused"):
        try:
            loss_of(features, None)
        except Exception as error:
            return [], [isinstance(error, ValueError)]
        return [], ["nothing is raised"]
    for name, sequence in (("model", model), ("guide", guide)):
        sequence.register_forward_hook(lambda *_, name=name: log.append([name, "hook"]))
    if case.get("own"):
        loss_of.tokenizer = _Tokens(WORDS, log, "own")
    if case.get("alike"):
        loss_of.tokenizer = ours
    return _calls(case, loss_of, features, log)


def _of_columns(case, log):
    """More texts than words: tokens are those of the row, and the column's place is in the mask."""
    from encoder import Words
    from sentence_transformers.models import Transformer

    class Table(Transformer):
        def __init__(self, values, name):
            super().__init__()
            self.weight, self.name = torch.nn.Parameter(values.clone()), name

        def forward(self, features):
            log.append([self.name, sorted(features), torch.is_grad_enabled(), id(features)])
            return {"sentence_embedding": self.weight[int(features["place"])]}

    tokenizer = Words(WORDS)
    dtypes = [getattr(torch, dtype) for dtype in case["dtypes"]]
    model, guide = (
        _sequence(Table(case[name].to(dtype), name), tokenizer)
        for name, dtype in zip(("model", "guide"), dtypes, strict=True)
    )
    loss_of = _loss_of(model, guide, case["temperature"])
    return _calls(case, loss_of, [{"place": torch.tensor(place)} for place in range(len(case["model"]))], log)


def _calls(case, loss_of, features, log):
    numbers, facts, grad, columns, rows = [], [], case["grad"], len(features), None
    model, guide = loss_of.model, loss_of.guide
    if case.get("before"):
        for item in loss_of.parameters():
            item.grad = torch.full_like(item, 0.5)
    for change in ({}, *case["later"]):
        grad, columns, rows = (
            change.get(name, old) for name, old in (("grad", grad), ("columns", columns), ("rows", rows))
        )
        for name in ("temperature", "must_retokenize"):
            if name in change:
                setattr(loss_of, name, change[name])
        if change.get("move"):
            with torch.no_grad():
                model[0].weight.copy_(model[0].weight.flip(1) + 0.5)
                guide[0].weight.copy_(guide[0].weight.roll(1, 1) * torch.linspace(1, 2, guide[0].weight.shape[1]))
        given = [
            {name: item[:rows] if item.dim() else item for name, item in one.items()} for one in features[:columns]
        ]
        if case.get("twice"):
            given[2] = given[0]
        if case.get("tuple"):
            given = tuple(given)
        kept = [{name: (item, item.clone()) for name, item in one.items()} for one in given]
        parameters = [item.detach().clone() for item in loss_of.parameters()]
        if not case.get("before"):
            loss_of.zero_grad()
        before = [None if item.grad is None else item.grad.clone() for item in loss_of.parameters()]
        log.clear()
        labels = None if case.get("labels") is None else case["labels"].T.clone().T
        with torch.set_grad_enabled(grad):
            loss = loss_of(given, labels)
            modes = [torch.is_grad_enabled(), str(torch.get_default_dtype())]
        facts.append([labels is None or torch.equal(labels, case["labels"]), len(given), modes])
        same = [id(one) for one in given]
        lines = [[item in same if type(item) is int and item > 10**6 else item for item in line] for line in log]
        # In which order texts are decoded and read anew, and between which calls, is left open.
        facts.append([line for line in lines if line[1] not in ("decode", "tokenize")])
        facts += [[line for line in lines if line[1] == kind] for kind in ("decode", "tokenize")]
        facts.append([item.requires_grad for item in loss_of.parameters()])
        facts.append([isinstance(loss, torch.Tensor), str(loss.dtype), list(loss.shape), loss.requires_grad])
        facts.append([loss_of.training, model.training, guide.training, loss_of.temperature, loss_of.must_retokenize])
        facts.append(
            [
                list(one) == list(old)
                and all(one[name] is item and torch.equal(item, copy) for name, (item, copy) in old.items())
                for one, old in zip(given, kept, strict=True)
            ]
        )
        facts.append([torch.equal(item, old) for item, old in zip(loss_of.parameters(), parameters, strict=True)])
        facts.append(
            [
                item.grad is None if old is None else torch.equal(item.grad, old)
                for item, old in zip(loss_of.parameters(), before, strict=True)
            ]
        )
        numbers += [loss.detach().clone(), torch.rand(2, dtype=torch.float64)]
        if grad:
            (1.5 * loss).backward()
            gradient = model[0].weight.grad
            numbers.append(gradient.clone() * model[0].weight.detach().abs().amax(dim=-1, keepdim=True))
            facts.append([guide[0].weight.grad is None, str(gradient.dtype)])
    return numbers, facts
