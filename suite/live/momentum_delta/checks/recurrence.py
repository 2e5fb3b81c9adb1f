"""Outputs, states and gradients over sizes, settings and dtypes; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(*shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def case(name, kind=torch.float32, memory=False, momentum=False, final=True, **more):
        rows = more.pop("rows", None) or integer(1, 3)
        heads = more.pop("heads", None) or integer(2, 4)
        steps = more.pop("steps", None)
        steps = integer(3, 7) if steps is None else steps
        width, value_width = more.pop("width", None) or integer(2, 5), more.pop("value_width", None) or integer(2, 5)
        places = (rows, steps, heads)
        keys = torch.nn.functional.normalize(normal(*places, width), dim=-1) * uniform(*places, 1, low=0.6, high=1.2)
        given = {
            "q": normal(*places, width),
            "k": keys,
            "v": normal(*places, value_width),
            "p": 0.7 * keys + 0.2 * normal(*places, width),
            "log_alpha": uniform(*places, low=-0.6, high=-0.02),
            "log_mu": uniform(*places, low=-1.2, high=-0.1),
            "beta": uniform(*places, low=0.2, high=1.2),
            "eta": uniform(*places, low=0.3, high=1.3),
        }
        if memory:
            given["initial_S"] = normal(rows, heads, width, value_width)
        if momentum:
            given["initial_M"] = normal(rows, heads, width, value_width)
        options = more.pop("options", {}) | ({"output_final_state": True} if final else {})
        return {
            "name": name,
            "given": {key: item.to(kind) for key, item in given.items()},
            "weights": normal(*places, value_width),
            "state_weights": normal(2, rows, heads, width, value_width),
            "options": options,
            "key": "near",
            **more,
        }

    for kind, memory, momentum, final in product(
        (torch.float32, torch.float64), (False, True), (False, True), (False, True)
    ):
        starts = f"{'memory, ' if memory else ''}{'momentum, ' if momentum else ''}"
        name = f"{kind}, {starts}{'states' if final else 'outputs'}"
        yield case(name, kind, memory, momentum, final)
    for memory, final in product((False, True), (False, True)):
        options = {"scale": uniform(1, low=0.2, high=2.0).item()}
        yield case(f"a scale, {memory}, {final}", torch.float32, memory, memory, final, options=options)
    yield case("a scale of zero", momentum=True, options={"scale": 0.0})
    yield case("a scale of one", momentum=True, options={"scale": 1.0})
    yield case("states not asked for", final=False, options={"output_final_state": False})
    yield case("one step", memory=True, momentum=True, steps=1)
    yield case("many steps", memory=True, momentum=True, steps=integer(16, 24), rows=1)
    yield case("one row and head", rows=1, heads=1)
    yield case("keys of width one", width=1)
    yield case("values of width one", value_width=1)
    yield case("all sizes alike", memory=True, momentum=True, rows=3, heads=3, steps=3, width=3, value_width=3)
    given = case("layouts of their own", memory=True, momentum=True)
    mixed = {name: item.transpose(0, -1).contiguous().transpose(0, -1) for name, item in given["given"].items()}
    yield given | {"given": mixed}
    yield case("by position", memory=True, momentum=True, positional=uniform(1, low=0.3, high=2.0).item())
    yield {"name": "experiment", "seed": seed % 1000}
    yield case("more than 64 steps", memory=True, momentum=True, steps=integer(67, 72), rows=1, heads=1)

    yield case("no steps", steps=0, edge=True)
    yield case("no steps, initial states", memory=True, momentum=True, steps=0, edge=True)
    yield case("no steps, initial momentum", momentum=True, steps=0, edge=True)
    for memory in (False, True):
        yield case(f"half precision, {memory}", torch.bfloat16, memory, not memory, key="half", edge=True)
    for memory, momentum in ((False, True), (True, False), (True, True)):
        name = f"half precision, states in float32, {memory}, {momentum}"
        given = case(name, memory=memory, momentum=momentum, key="half", edge=True)
        item = {key: value if key.startswith("initial") else value.bfloat16() for key, value in given["given"].items()}
        yield given | {"given": item}
    yield case("no gradients", memory=True, momentum=True, frozen=True, edge=True)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.momentum_delta_rule.naive import recurrent_momentum_delta_rule_ref

    trained = "frozen" not in case
    given = {name: item.clone().requires_grad_(trained) for name, item in case["given"].items()}
    if "positional" in case:
        order = ("q", "k", "v", "log_alpha", "log_mu", "p", "beta", "eta")
        states = (given["initial_S"], given["initial_M"], True)
        found = recurrent_momentum_delta_rule_ref(*(given[name] for name in order), case["positional"], *states)
    else:
        found = recurrent_momentum_delta_rule_ref(**given, **case["options"])
    outputs, states = found
    seen = {"outputs": outputs.detach()}
    loss = (outputs * case["weights"]).sum()
    if states is not None:
        seen["states"] = states.detach()
        loss = loss + (states * case["state_weights"]).sum()
    result = {"near": seen}
    # Without steps and initial states, nothing depends on the inputs.
    loss = loss + 0 * sum(item.sum() for item in given.values())
    gradients = torch.autograd.grad(loss, list(given.values()), materialize_grads=True) if trained else []
    # Half precision rounds the gradients, but not the outputs.
    result[case["key"]] = {**result.get(case["key"], {}), "gradients": list(gradients)}
    unchanged = all(torch.equal(item.detach(), case["given"][name]) for name, item in given.items())
    return result | {"unchanged": unchanged}
