"""The guided loss: cosines, losses with gradients over batches of texts, and foreign tokens; then the experiment."""

import torch
from torch.nn import functional as F

WORDS = [f"w{number}" for number in range(40)]


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return int(torch.randint(low, high + 1, (), generator=generator))

    for dtype in (torch.float64, torch.float32):
        for rows, others, width in ((integer(2, 6), integer(7, 9), 5), (4, 4, integer(2, 30)), (1, integer(1, 9), 3)):
            pair = [normal(size, width).to(dtype) for size in (rows, others)]
            yield {"name": f"cosines, {rows} and {others} of {dtype}", "pair": pair, "dtype": str(dtype)}

    def texts(rows, columns):
        """Texts of one to three words, no two with the same words."""
        found = {}
        while len(found) < rows * columns:
            words = [WORDS[integer(0, len(WORDS) - 1)] for _ in range(integer(1, 3))]
            found.setdefault(tuple(sorted(words)), " ".join(words))
        found = list(found.values())
        return [found[rows * column : rows * (column + 1)] for column in range(columns)]

    def embedded(weight, text):
        places = [1, 2, *(3 + WORDS.index(word) for word in text.split())]
        return F.normalize(weight[places].mean(0), dim=0)

    def close(weight, columns):
        """The least distance of the guide's similarities from the thresholds that they are compared with."""
        one, two, *more = [torch.stack([embedded(weight, text) for text in column]) for column in columns]
        limit = (one * two).sum(1, keepdim=True)
        found = torch.cat([one @ two.T, one @ one.T, two @ two.T, *(one @ other.T for other in more)], 1) - limit
        return found[:, : len(one)].fill_diagonal_(1).abs().min() if len(one) > 1 else found[:, 1:].abs().min()

    def case(name, rows=6, columns=2, **more):
        while True:
            given, guide = texts(rows, columns), normal(len(WORDS) + 3, integer(4, 9))
            if close(guide, given) > 2e-5:
                break
        model = normal(len(WORDS) + 3, integer(4, 9))
        found = {"name": name, "texts": given, "model": model, "guide": guide, "dtypes": ["float64", "float64"]}
        temperature = 0.05 + 0.5 * float(torch.rand((), generator=generator))
        return found | {"temperature": temperature, "foreign": False} | more

    for columns in (2, 3):
        for dtypes in (["float64"] * 2, ["float32"] * 2, ["float32", "float64"]):
            for foreign in (False, True):
                name = f"{columns} columns, {' and '.join(dtypes)}{', foreign tokens' * foreign}"
                yield case(name, integer(3, 8), columns, dtypes=dtypes, foreign=foreign)
        for rows in (1, 2, 12):
            yield case(f"{columns} columns, {rows} rows", rows, columns, foreign=rows == 2)
        for dtype in ("float64", "float32"):
            yield case(f"{columns} columns, the default temperature, {dtype}", 6, columns, temperature=None)
        near = normal(len(WORDS) + 3, 6) + 4
        yield case(
            f"{columns} columns, close embeddings", 6, columns, model=near, temperature=0.01, dtypes=["float32"] * 2
        )
        yield case(f"{columns} columns, a high temperature", 5, columns, temperature=1.5 + integer(0, 9) / 2)
        yield case(f"{columns} columns, no gradients", 5, columns, grad=False)
    yield {"name": "experiment", "seed": seed % 1000}

    def exact(rows):
        """A guide whose similarities have no rounding: a word and two special tokens have a mean of four ±1."""
        guide = torch.zeros(len(WORDS) + 3, 6, dtype=torch.float64)
        for row in guide[3:]:
            signs = 6 * torch.randint(2, (4,), generator=generator).double() - 3
            row[torch.randperm(6, generator=generator)[:4]] = signs
        words = [WORDS[place] for place in torch.randperm(len(WORDS), generator=generator)[: 3 * rows].tolist()]
        return {"guide": guide, "texts": [words[:rows], words[rows : 2 * rows], words[2 * rows :]]}

    for number in range(3):
        yield case(f"ties, {number}", 6, 3) | exact(12) | {"edge": True}
    alike = exact(8)
    alike["texts"][1] = alike["texts"][0]
    yield case("positives that equal anchors", 6, 3) | alike | {"edge": True}
    later = [0.1 + integer(1, 9) / 10 for _ in range(2)]
    yield case("a temperature that changes", 5, 3, later=later, edge=True)
    yield case("labels", 6, 3, labels=torch.arange(6).flip(0), edge=True)
    yield case("features stay as they are", 5, 3, foreign=True, unchanged=True, edge=True)
    for count in (1, 4):
        given = case("", 4, 2) | {"texts": texts(4, count), "name": f"{count} columns", "refused": True, "edge": True}
        yield given


def observe(case):
    if "pair" in case:
        return cosines(case)
    if "texts" in case:
        return losses(case)
    from experiment import run

    return {"experiment": run(case["seed"])}


def model_of(weight, dtype, words):
    from encoder import encoder

    model = encoder(words, weight.shape[1]).to(getattr(torch, dtype))
    rows = [0, 1, 2, *(3 + WORDS.index(word) for word in words)]
    with torch.no_grad():
        model[0].words.weight.copy_(weight[rows])
    return model


def cosines(case):
    from sentence_transformers.losses.GISTEmbedLoss import GISTEmbedLoss

    model = model_of(torch.ones(len(WORDS) + 3, 2), "float64", WORDS)
    one, two = (item.clone().requires_grad_() for item in case["pair"])
    found = GISTEmbedLoss(model, model).sim_matrix(one, two)
    (found * torch.linspace(-1, 2, found.numel(), dtype=found.dtype).view_as(found)).sum().backward()
    return {"double" if case["dtype"] == "torch.float64" else "single": [found.detach(), one.grad, two.grad]}


def losses(case):
    from sentence_transformers.losses.GISTEmbedLoss import GISTEmbedLoss

    model = model_of(case["model"], case["dtypes"][0], WORDS)
    guide = model_of(case["guide"], case["dtypes"][1], WORDS[::-1] if case["foreign"] else WORDS)
    more = {} if case["temperature"] is None else {"temperature": case["temperature"]}
    loss_of = GISTEmbedLoss(model, guide, **more)
    guide.train("unchanged" not in case)
    labels = None if "labels" not in case else case["labels"].clone()
    features = [model.tokenize(column) for column in case["texts"]]
    if "refused" in case:
        try:
            loss_of(features, None)
        except Exception as error:
            return {"is a ValueError": isinstance(error, ValueError), "texts": case["texts"]}
        return {}
    numbers = []
    for temperature in [None, *case.get("later", [])]:
        if temperature is not None:
            loss_of.temperature = temperature
        model.zero_grad()
        with torch.set_grad_enabled(case.get("grad", True)):
            loss = loss_of(features, labels)
        numbers.append(loss.detach())
        if case.get("grad", True):
            loss.backward()
            numbers.append(model[0].words.weight.grad.clone())
    found = {"double" if case["dtypes"] == ["float64"] * 2 else "single": numbers}
    weight = guide[0].words.weight
    found["guide"] = [weight.grad is not None, weight.requires_grad, str(weight.dtype), guide.training]
    found["labels"] = labels
    if "unchanged" in case:
        found["features"] = [dict(column) for column in features]
    return found
