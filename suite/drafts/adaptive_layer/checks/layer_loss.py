"""The loss over layers: values, gradients, draws, what runs when, and what is left behind; then the experiment."""

import random

import torch
from torch import nn

WORDS = 20


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def case(name, rows=(5, 5), layers=4, dtype="float64", settings=None, **more):
        features = []
        for column, count in enumerate(rows):
            ids = torch.randint(WORDS, (count, 3 + column), generator=generator)
            mask = (torch.rand(count, 3 + column, generator=generator) < 0.8).long()
            mask[:, 0] = 1
            features.append({"input_ids": ids, "attention_mask": mask})
        given = {"n_layers_per_step": -1, "last_layer_weight": 1.5, "prior_layers_weight": 0.7}
        given |= {"kl_div_weight": 1.3, "kl_temperature": 0.6}
        return {
            "name": name,
            "features": features,
            "layers": layers,
            "dtype": dtype,
            "settings": given | (settings or {}),
            "seed": int(torch.randint(2**31, (), generator=generator)),
            "width": 6,
            "dense": None,
            "dropout": 0.0,
            "dense dropout": 0.0,
            "train": True,
            "grad": True,
            "passes": 1,
            "hidden": False,
            "later": [],
            **more,
        }

    def drawn():
        return int(torch.randint(10**6, (), generator=generator))

    for dtype in ("float32", "float64"):
        yield case(f"all layers, {dtype}", dtype=dtype)
        yield case(f"all layers and a dense one behind, {dtype}", dtype=dtype, dense=9)
    for layers in (1, 2, 3, 7, 12):
        yield case(f"{layers} layers", layers=layers)
    yield case("one layer of a step of one", layers=1, settings={"n_layers_per_step": 1})
    yield case("two layers, a step of one", layers=2, settings={"n_layers_per_step": 1})
    for step in (1, 2, 3, 4, 5, 6, 7, 0, -1, -3):
        for turn in range(2):
            yield case(f"steps of {step}, {turn}", layers=6, settings={"n_layers_per_step": step}, draw=drawn())
    for weight in (0, 0.0, 1, 100.0):
        for name in ("last_layer_weight", "prior_layers_weight", "kl_div_weight"):
            yield case(f"{name} of {weight}", settings={name: weight})
    for temperature in (0, 0.0, 0.05, 0.3, 1, 2, 10.0):
        settings = {"kl_temperature": temperature}
        yield case(f"a temperature of {temperature}", settings=settings, dense=5)
    yield case("no divergence, steps of one", settings={"kl_temperature": 0, "n_layers_per_step": 1}, draw=drawn())
    yield case("the divergence alone", settings={"last_layer_weight": 0, "prior_layers_weight": 0})
    yield case(
        "the divergence alone, a step of two",
        settings={"last_layer_weight": 0, "prior_layers_weight": 0, "n_layers_per_step": 2},
    )
    yield case("default settings", settings=None, default=True, draw=drawn(), layers=5)
    yield case("one row each", rows=(1, 1))
    yield case("one column", rows=(6,))
    yield case("five columns of several lengths", rows=(4, 1, 6, 3, 2))
    yield case("64 rows", rows=(64, 30), layers=3)
    yield case("embeddings of one number", dense=1)
    yield case("64 numbers", dense=64, layers=3)
    yield case("two passes", passes=2, rows=(4, 3))
    yield case("a column that is embedded twice", order=[0, 1, 0, 2], rows=(4, 3, 2), dropout=0.3)
    yield case("another model", other=True, rows=(4, 3))
    yield case("a tuple, and labels", tuple=True, labels=True)
    yield case("dropout in the transformer", dropout=0.4)
    yield case(
        "dropout in the transformer, a step of one", dropout=0.4, settings={"n_layers_per_step": 1}, draw=drawn()
    )
    yield case("dropout behind it", dropout=0.2, dense=7, settings={"n_layers_per_step": 1}, draw=drawn()) | {
        "dense dropout": 0.4
    }
    for settings in ({"kl_temperature": 0}, {"kl_div_weight": 0}):
        yield case(f"nothing counts but the last layer, {settings}", settings={"prior_layers_weight": 0} | settings)
    more = {"settings": {"n_layers_per_step": 1}, "layers": 5}
    yield case("evaluation, a step of one", train=False, draw=drawn(), **more)
    yield case("no gradients, a step of one", grad=False, draw=drawn(), **more)
    yield case("two passes, dropout", passes=2, dropout=0.4, rows=(4, 3))
    yield case("evaluation", dropout=0.4, dense=7, train=False) | {"dense dropout": 0.4}
    yield case("no gradients", grad=False)
    yield case("no gradients, dropout", grad=False, dropout=0.3)
    yield case("hidden states are asked for before", hidden=True)
    yield case("hidden states are asked for before, two passes", hidden=True, passes=2)
    yield case("forwards of the instances", replaced=True)
    yield case("further keys", extra=True)
    yield case("modules that write into their dict", writes=True, dense=5, passes=2)
    yield case("large embeddings", dense=4, settings={"kl_temperature": 5}, scale=30.0)
    later = [
        {"kl_temperature": 2.0, "kl_div_weight": 0.3},
        {"n_layers_per_step": 1, "draw": drawn()},
        {"last_layer_weight": 3, "prior_layers_weight": 2.5},
        {"data": True, "n_layers_per_step": 0},
        {"kl_temperature": 0},
        {"kl_temperature": 1},
        {"hidden": True},
        {"grad": False},
        {"move": True, "grad": True},
    ]
    yield case("settings that change", later=later)
    yield case("again", later=[{}, {}], dropout=0.3)
    yield case("an inner loss that changes", later=[{"inner": 0.4}])
    yield {"name": "experiment", "seed_of_experiment": seed % 1000}


def observe(case):
    if "seed_of_experiment" in case:
        from experiment import run

        return {"experiment": run(case["seed_of_experiment"])}
    numbers, facts = _losses(case)
    return {"double" if case["dtype"] == "float64" else "single": numbers, "facts": facts}


class _Behind(nn.Module):
    """Stands behind the transformer, notes what comes, and hands it on, multiplied where that is asked for."""

    def __init__(self, case, config):
        super().__init__()
        self.seen, self.extra, self.scale = [], case.get("extra", False), case.get("scale", 1.0)
        self.config, self.writes = config, case.get("writes", False)
        self.register_forward_hook(lambda *_: self.seen.append("called"))

    def forward(self, features):
        wanted = sorted(name for name in features if name != "all_layer_embeddings")
        self.seen.append([wanted, list(features["token_embeddings"].shape), features.get("extra") is _EXTRA])
        self.seen.append(self.config.output_hidden_states)
        tokens = features["token_embeddings"] * self.scale
        if self.extra:
            tokens = tokens * features["weight"]
        if self.writes:
            features |= {"token_embeddings": tokens * features.get("factor", 1), "factor": 2.0}
            return features
        return features | {"token_embeddings": tokens}


_EXTRA = object()


class _Inner(nn.Module):
    """A loss with a term of each column and of each two columns; it notes what it was given."""

    def __init__(self, model, case, other=None):
        super().__init__()
        self.model, self.other, self.calls, self.scale = model, other, [], 1.0
        self.order = case.get("order", [*range(len(case["features"]))] * case["passes"])
        self.register_forward_hook(lambda *_: self.calls[-1].append("called"))

    def forward(self, sentence_features, labels):
        self.calls.append([sentence_features, labels])
        found, noted = [], []
        for place in self.order:
            features = sentence_features[place]
            output = self.model(features)
            embedding = output["sentence_embedding"]
            noted.append([list(embedding.shape), output["input_ids"] is features["input_ids"]])
            if self.other is not None:
                embedding = embedding * self.other(features)["sentence_embedding"].norm(dim=1, keepdim=True)
            found.append(nn.functional.normalize(embedding, dim=1) + 0.1 * embedding.cos())
        self.calls[-1].append(noted)
        total = 0.0
        for place, item in enumerate(found):
            slope = torch.linspace(-1, 1 + place, item.numel(), dtype=item.dtype).view_as(item)
            total = total + (self.scale * item * slope).sin().sum()
            for earlier in found[:place]:
                total = total + (self.scale * item @ earlier.T).logsumexp(dim=1).mean()
        return total


def _model(case):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Dense, Pooling, Transformer

    count, kept = [], []

    class Counted(Transformer):
        """Counts its calls, and has further keys where the case says so."""

        def forward(self, features):
            count.append(self.auto_model.config.output_hidden_states)
            output = super().forward(features)
            if case.get("extra"):
                weight = 1 + features["attention_mask"].sum(1)[:, None, None] / 10
                output |= {"extra": _EXTRA, "weight": weight, "attention_mask": features["attention_mask"] + 1}
            kept.append(
                (output, dict(output), [item.detach().clone() for item in output.get("all_layer_embeddings", ())])
            )
            return output

    transformer = Counted(WORDS, case["width"], case["layers"], case["dropout"])
    behind = _Behind(case, transformer.auto_model.config)
    modules = [transformer, behind, Pooling()]
    if case["dense"] is not None:
        modules.append(Dense(case["width"], case["dense"], case["dense dropout"]))
    model = SentenceTransformer(*modules).to(getattr(torch, case["dtype"])).train(case["train"])
    model[0].auto_model.config.output_hidden_states = case["hidden"]
    return model, count, behind, kept


def _losses(case):
    from sentence_transformers.losses.AdaptiveLayerLoss import AdaptiveLayerLoss

    torch.manual_seed(case["seed"])
    model, count, behind, outputs = _model(case)
    other = None
    if case.get("other"):
        torch.manual_seed(case["seed"] + 1)
        other = _model(case)[0]
    inner = _Inner(model, case, other)
    names = list(case["settings"])
    loss_of = (
        AdaptiveLayerLoss(model, inner) if case.get("default") else AdaptiveLayerLoss(model, inner, **case["settings"])
    )
    if case.get("replaced"):
        first, whole = model[0].forward, model.forward

        def of_the_transformer(features):
            output = first(features)
            changed = {"token_embeddings": output["token_embeddings"] * 1.5}
            if "all_layer_embeddings" in output:
                prior = [2 * item for item in output["all_layer_embeddings"][:-1]]
                changed["all_layer_embeddings"] = (*prior, changed["token_embeddings"])
            return output | changed

        def of_the_model(features):
            output = whole(features)
            return output | {"sentence_embedding": output["sentence_embedding"] * 0.5 + 0.1}

        model[0].forward, model.forward = of_the_transformer, of_the_model
    forwards = [model.forward, model[0].forward]
    config = model[0].auto_model.config
    numbers, facts, grad, moved = [], [], case["grad"], False
    for change in ({}, *case["later"]):
        grad, moved = change.get("grad", grad), change.get("data", moved)
        inner.scale = change.get("inner", inner.scale)
        config.output_hidden_states = change.get("hidden", config.output_hidden_states)
        for name in names:
            if name in change:
                setattr(loss_of, name, change[name])
        if change.get("move"):
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.add_(0.3 * torch.rand_like(parameter))
        for log in (count, behind.seen, outputs, inner.calls):
            log.clear()
        loss_of.zero_grad()
        features = [{name: item.clone() for name, item in column.items()} for column in case["features"]]
        if moved:
            features = [{name: item.flip(0)[1:] for name, item in column.items()} for column in features]
        if case.get("tuple"):
            features = tuple(features)
        kept = [{name: (item, item.clone()) for name, item in column.items()} for column in features]
        labels = torch.linspace(0.5, 2, 5) if case.get("labels") else None
        settings = [getattr(loss_of, name) for name in names]
        asked = config.output_hidden_states
        parameters = [item.detach().clone() for item in model.parameters()]
        random.seed(change.get("draw", case.get("draw", case["seed"])))
        state = random.getstate()
        with torch.set_grad_enabled(grad):
            loss = loss_of(features, labels)
        facts.append([random.getstate() == state, random.random()])
        facts.append([isinstance(loss, torch.Tensor), str(loss.dtype), list(loss.shape), loss.requires_grad])
        facts.append([model.forward == forwards[0], model[0].forward == forwards[1], model.training, loss_of.training])
        facts.append([config.output_hidden_states == asked, list(count)])
        facts.append(
            [all(getattr(loss_of, name) is item for name, item in zip(names, settings, strict=True)), settings]
        )
        facts.append([len(inner.calls), [one is features and two is labels for one, two, *_ in inner.calls]])
        facts.append([rest for _, _, *rest in inner.calls])
        facts.append(list(behind.seen))
        facts.append(labels is None or torch.equal(labels, torch.linspace(0.5, 2, 5)))
        facts.append(
            [
                list(column) == list(old)
                and all(column[name] is one and torch.equal(one, two) for name, (one, two) in old.items())
                for column, old in zip(features, kept, strict=True)
            ]
        )
        facts.append([torch.equal(item, old) for item, old in zip(model.parameters(), parameters, strict=True)])
        facts.append([item.grad is None for item in model.parameters()])
        facts.append(
            [
                torch.equal(item.detach(), old)
                for _, output, olds in outputs
                for item, old in zip(output.get("all_layer_embeddings", ()), olds, strict=True)
            ]
        )
        numbers += [loss.detach().clone(), torch.rand(2, dtype=torch.float64)]
        if grad:
            loss.backward()
            numbers.append(
                {name: item.grad.clone() for name, item in model.named_parameters() if item.grad is not None}
            )
        with torch.no_grad():
            # What the model returns by itself, of its last layer again.
            numbers.append(model(features[0])["sentence_embedding"])
    return numbers, facts
