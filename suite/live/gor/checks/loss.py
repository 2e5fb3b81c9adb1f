"""Terms, losses and gradients over similarities, weights, columns and dtypes; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def column(kind, rows=None, width=None):
        rows, width = rows or integer(3, 7), width or integer(3, 6)
        if kind == "cone":
            return normal(rows, width) * 0.6 + normal(width) + 0.8
        if kind == "opposite":
            # Two rows far apart, or two groups of rows: the mean of the similarities is below 0.
            return normal(width) * (torch.arange(rows) % 2 * 2 - 1)[:, None] + 0.2 * normal(rows, width)
        if kind == "spread":
            # Nearly orthogonal rows, of which there are no more than dimensions: the second moment is below 1/d.
            wide = max(rows, width) + integer(1, 3)
            return torch.linalg.qr(normal(wide, wide)).Q[:rows] * 0.9 + 0.02 * normal(rows, wide)
        return normal(rows, width)

    def case(name, columns, double=False, **more):
        columns = columns if double else [some.float() for some in columns]
        weights = [uniform(0.3, 2.5), uniform(0.3, 2.5)]
        return {"name": name, "columns": columns, "weights": normal(2), "settings": {}, "steps": []} | {
            "factors": {"mean_weight": weights[0], "second_moment_weight": weights[1]},
            "double": double,
            **more,
        }

    for kind, double in product(("cone", "spread", "usual", "opposite"), (False, True)):
        rows = {"rows": 2} if kind == "opposite" and double else {}
        yield case(f"terms, {kind}, {'double' if double else 'single'}", [column(kind, **rows)], double)
    for similarity, double in product(("cos_sim", "dot_score", "euclidean_sim", "custom"), (False, True)):
        settings = {"similarity_fct": similarity}
        columns = [0.5 * column("cone"), 0.5 * column("usual"), 0.5 * column("opposite")]
        yield case(f"{similarity}, {'double' if double else 'single'}", columns, double, settings=settings)
    for aggregation, number in product(("mean", "sum"), (1, 2, 3)):
        columns = [column("cone", width=4) for _ in range(number)]
        yield case(f"{aggregation} of {number}", columns, number == 2, settings={"aggregation": aggregation})
    for mean_weight, second in ((None, 1), (0, 1), (0.0, 1), (1, None), (1, 0), (1, 0.0)):
        factors = {
            "mean_weight": mean_weight and uniform(0.2, 3.0),
            "second_moment_weight": second and uniform(0.2, 3.0),
        }
        yield case(f"weights {mean_weight} and {second}", [column("cone"), column("cone")], factors=factors)
    yield case("usual settings", [column("cone"), column("cone")], factors={})
    factors = {"mean_weight": -uniform(0.2, 1.0), "second_moment_weight": -uniform(0.2, 1.0)}
    yield case("weights below 0", [column("cone"), column("cone")], factors=factors)
    yield case("one spread column and one cone", [column("spread"), column("cone")], settings={"aggregation": "sum"})
    yield case("columns of different sizes", [column("cone", 2), column("cone", 9), column("cone", 4)], True)
    yield case("a wide column", [column("cone", 3, 40)])
    yield case("a long column", [column("cone", 30, 3)])
    steps = ["mean_weight", "similarity_fct", "aggregation", "second_moment_weight"]
    yield case("settings that change", [column("cone"), column("cone")], steps=steps)
    steps = ["second_moment_weight", "drop", "aggregation", "similarity_fct"]
    yield case("settings that change otherwise", [column("usual"), column("cone")], True, steps=steps)
    yield case("by the model", [normal(integer(3, 6), 5), normal(integer(3, 6), 5)], model=normal(4, 5).float())
    for double in (False, True):
        kind = "double" if double else "single"
        repeated = [torch.cat([some, some[:2]]) for some in (column("cone"), column("usual"))]
        yield case(f"repeated rows, {kind}", repeated, double)
        settings = {"similarity_fct": "centred"}
        yield case(f"centred, {kind}", [column("cone"), column("usual")], double, settings=settings)
    yield {"name": "experiment", "seed": seed % 1000}

    for double in (False, True):
        yield case(f"one row, {'double' if double else 'single'}", [column("cone", 1)], double, edge=True)
    columns = [column("cone", 1), column("cone", integer(3, 5))]
    yield case("a column of one row among others", columns, edge=True, settings={"similarity_fct": "dot_score"})
    for double in (False, True):
        columns, settings = [column("cone"), column("usual")], {"similarity_fct": "heavy"}
        yield case(f"heavy, {'double' if double else 'single'}", columns, double, edge=True, settings=settings)


def _custom(a, b):
    """A similarity that is not 1, and not the largest, for a vector with itself."""
    return torch.cos(2.0 * (a @ b.T)) + 0.3 * a.sum(dim=1)[:, None] * b.sum(dim=1)


def _heavy(a, b):
    """A similarity that is very large for a vector with itself, if all rows are compared with themselves."""
    found = torch.sin(a @ b.T)
    return found if a.shape != b.shape else torch.where(torch.eye(len(a), dtype=torch.bool), 3e8, found)


def _centred(a, b):
    """A similarity that depends on all rows that are given."""
    return (a - a.mean(dim=0)) @ (b - b.mean(dim=0)).T


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from sentence_transformers import util
    from sentence_transformers.sentence_transformer import SentenceTransformer
    from sentence_transformers.sentence_transformer.losses import GlobalOrthogonalRegularizationLoss

    similarities = {name: getattr(util, name) for name in ("cos_sim", "dot_score", "euclidean_sim")}
    similarities |= {"custom": _custom, "heavy": _heavy, "centred": _centred}
    settings = case["settings"] | case["factors"]
    if "similarity_fct" in settings:
        settings["similarity_fct"] = similarities[settings["similarity_fct"]]
    model = SentenceTransformer(5, 4)
    loss = GlobalOrthogonalRegularizationLoss(model, **settings)
    if "model" in case:
        model.linear.weight.data, model.linear.bias.data = case["model"].clone(), torch.full((4,), 0.4)
        found = loss([{"vectors": some} for some in case["columns"]], torch.zeros(3))
        gradient = torch.autograd.grad(sum(found.values()), model.linear.weight)[0]
        return {"single": [{name: item.detach() for name, item in found.items()}, gradient]}
    results, facts = [], []
    columns = [some.clone().requires_grad_() for some in case["columns"]]
    for some in columns:
        terms = loss.compute_gor(some)
        for term in terms:
            (gradient,) = torch.autograd.grad(term, some, retain_graph=True)
            results += [term.detach(), gradient]
            facts.append([str(term.dtype), list(term.shape)])
        facts.append(len(terms))
    for step in (None, *case["steps"]):
        if step == "similarity_fct":
            loss.similarity_fct = similarities["dot_score"]
        elif step == "aggregation":
            loss.aggregation = "sum"
        elif step == "drop":
            loss.mean_weight = None
        elif step:
            setattr(loss, step, 1.7 * getattr(loss, step) + 0.1)
        labels = torch.arange(3)
        found = loss.compute_loss_from_embeddings(columns, *[labels] * bool(step))
        facts.append(labels.tolist())
        weights = dict(zip(("gor_mean", "gor_second_moment"), case["weights"].to(columns[0].dtype), strict=True))
        total = sum(weights[name] * item for name, item in found.items())
        results += [{name: item.detach() for name, item in found.items()}, *torch.autograd.grad(total, columns)]
        facts.append([[str(item.dtype), list(item.shape)] for item in found.values()])
    labels = torch.full((4,), 0.5)
    changed = loss.compute_loss_from_embeddings([0.5 * some.detach().flip(1) + 0.1 for some in columns][::-1], labels)
    facts.append(labels.tolist())
    results.append(dict(changed))
    facts.append([torch.equal(some.detach(), given) for some, given in zip(columns, case["columns"], strict=True)])
    facts.append([loss.training, len(columns)])
    return {"double" if case["double"] else "single": results, "facts": facts}
