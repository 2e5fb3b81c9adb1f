"""The encoder, the graph, a layer, the whole model; the loss, training and scores. In double precision throughout."""

from contextlib import contextmanager

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def whole(high, *shape):
        return torch.randint(0, high, shape, generator=generator)

    yield {"name": "encoder", "part": "encoded", "tokens": whole(11, 3, 7), "markers": whole(7, 3, 4)}
    # The last documents hold padding, which joins an event with itself.
    pairs = torch.cat([whole(5, 3, 6, 2), torch.zeros(3, 1, 2, dtype=torch.long)], dim=1)
    pairs[0, :3] = torch.tensor([[0, 1], [1, 2], [2, 3]])
    yield {"name": "graph", "part": "joined", "pairs": pairs, "events": normal(3, 5, 4)}
    for heads in (1, 2, 4):
        edges = (whole(2, 2, 5, 5) == 1) | torch.eye(5, dtype=torch.bool)
        # A node that sees another one only.
        edges[0, 1] = torch.arange(5) == 3
        yield {
            "name": f"layer, heads {heads}",
            "part": "layered",
            "heads": heads,
            "nodes": normal(2, 5, 8),
            "edges": edges,
        }
    for number, config in enumerate(({}, {"criss_cross": False}, {"num_classes": 2, "heads": 3, "layers": 1})):
        yield {
            "name": f"model {number}",
            "part": "modelled",
            "seed": seed % 1000 + number,
            "config": {"width": 6, **config},
        }
    for number, gamma in enumerate((0.0, 1.0, 1.5, 2.0, 3.0, 2.0)):
        count = 2 + number % 3
        labels = whole(count, 3, 7).masked_fill(torch.rand(3, 7, generator=generator) < 0.3, -100)
        labels[0, :2] = torch.tensor([0, 1])
        weights = [uniform(0.1, 2) for _ in range(count)]
        settings = [uniform(0.1, 0.9) if number % 2 else tuple(weights), gamma, count, number < 3]
        yield {
            "name": f"loss {number}",
            "part": "lost",
            "preds": 2 * normal(3, 7, count),
            "labels": labels,
            "loss": settings,
        }
    given = {"preds": normal(1, 3, 3), "labels": torch.tensor([[-100, 2, -100]]), "loss": [0.75, 1.0, 3, True]}
    yield {"name": "loss of one pair", "part": "lost", **given}
    for average in (False, True):
        given = {"preds": normal(2, 3, 3), "labels": torch.full((2, 3), -100), "loss": [0.75, 2.0, 3, average]}
        yield {"name": f"loss of padding alone, average {average}", "part": "lost", **given, "edge": True}
    for number, (steps, warm_up, clip) in enumerate(((1, 0.9, 1.0), (3, 0.4, 0.05), (5, 0.55, 0.3), (4, 0.1, 0.6))):
        config = {"steps": steps, "warm_up": warm_up, "clip": clip, "learning_rate": uniform(2e-3, 2e-2)}
        yield {"name": f"training {number}", "part": "trained", "seed": seed % 1000 + number, "config": config}
    for count in (2, 3, 4):
        labels = whole(count, 3, 5).masked_fill(torch.rand(3, 5, generator=generator) < 0.3, -100)
        labels[1, :2] = torch.tensor([0, count - 1])
        yield {"name": f"scores, {count} classes", "part": "scored", "preds": 2 * normal(3, 5, count), "labels": labels}


@contextmanager
def double_precision():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)


def observe(case):
    with double_precision():
        return PARTS[case["part"]](case)


def encoded(case):
    from encoder import DocumentEncoder

    torch.manual_seed(0)
    encoder = DocumentEncoder(11, 6)
    documents, events = encoder(case["tokens"], case["markers"])
    return {"documents": documents, "events": events, "gradient": gradient_of([documents, events], encoder)}


def joined(case):
    from graph import criss_cross, pair_nodes

    return {"edges": criss_cross(case["pairs"]) != 0, "nodes": pair_nodes(case["events"], case["pairs"])}


def layered(case):
    from graph import RelationalGraphLayer

    torch.manual_seed(0)
    layer = RelationalGraphLayer(8, case["heads"])
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    nodes = layer(case["nodes"], case["edges"])
    return {"nodes": nodes, "gradient": gradient_of([nodes], layer)}


def model_and_batch(case, **config):
    from data import collate, make_documents
    from model import ErgoConfig, build_model

    documents = make_documents(8, torch.Generator().manual_seed(case["seed"]))
    documents.sort(key=lambda document: len(document.relations))
    # Short and long documents, so that there is padding, and causes enough to learn something.
    batch = collate([*documents[:2], *documents[-2:]])
    return build_model(ErgoConfig(**config), case["seed"]), batch


def modelled(case):
    model, batch = model_and_batch(case, **case["config"])
    scores = model(batch)[batch.real]
    return {"scores": scores, "gradient": gradient_of([scores], model)}


def lost(case):
    from model import focal_loss

    preds = case["preds"].clone().requires_grad_()
    loss = focal_loss(*case["loss"])(preds, case["labels"])
    [gradient] = torch.autograd.grad(loss, [preds])
    return {"loss": loss, "gradient": gradient}


def trained(case):
    from model import focal_loss
    from training import TrainConfig, train

    model, batch = model_and_batch(case, width=6)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    loss = train(model, batch, focal_loss(), TrainConfig(**case["config"]))
    moved = [(now.detach() - then).flatten() for now, then in zip(model.parameters(), before, strict=True)]
    return {"loss": loss, "moved": torch.cat(moved)[::5]}


def scored(case):
    from evaluation import expected_scores, share_of_negatives
    from model import focal_loss

    preds, labels = case["preds"], case["labels"]
    criterion = focal_loss(num_classes=preds.shape[-1], size_average=False)
    return {"scores": expected_scores(preds, labels), "negatives": share_of_negatives(criterion, preds, labels)}


def gradient_of(outputs, module):
    """Of a weighted sum of outputs, for every third weight of a module."""
    total = sum((output * torch.linspace(-1, 2, output.numel()).view(output.shape)).sum() for output in outputs)
    return torch.cat([item.flatten() for item in torch.autograd.grad(total, list(module.parameters()))])[::3]


PARTS = {part.__name__: part for part in (encoded, joined, layered, modelled, lost, trained, scored)}
