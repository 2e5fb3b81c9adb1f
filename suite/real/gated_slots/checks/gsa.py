"""Gated slot attention: outputs, memories and gradients of every option, and continued calls; then the experiment."""

import torch

INPUTS = ("q", "k", "v", "s", "g")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator).item()

    def case(
        name,
        batch=2,
        length=7,
        heads=2,
        groups=2,
        width=5,
        value_width=3,
        slots=4,
        gated=True,
        state=False,
        dtype="float32",
        decay=0.7,
        options=None,
        **more,
    ):
        given = {
            "q": 1.5 * normal(batch, length, heads * groups, width),
            "k": normal(batch, length, heads, width),
            "v": normal(batch, length, heads, value_width),
            "s": (1 if gated else 2) * normal(batch, length, heads, slots),
        }
        if gated:
            given["g"] = -decay * normal(batch, length, heads, slots).abs()
        memories = normal(batch, heads, width, slots), normal(batch, heads, slots, value_width)
        return {
            "name": name,
            "inputs": given,
            "state": memories if state else None,
            "weights": [
                normal(batch, length, heads * groups, value_width),
                *(normal(*item.shape) for item in memories),
            ],
            "dtype": dtype,
            "options": {"output_final_state": True} | (options or {}),
        } | more

    def edge(*args, **more):
        return case(*args, **more) | {"edge": True}

    for gated in (True, False):
        kind = "" if gated else ", no gates"
        yield case("the defaults" + kind, gated=gated)
        yield case("an initial state" + kind, gated=gated, state=True)
        yield case("the outputs alone" + kind, gated=gated, options={"output_final_state": False}, state=not gated)
        yield case("one step" + kind, gated=gated, length=1, state=True)
        yield case("a longer stream" + kind, gated=gated, batch=1, length=40, width=3)
        yield case("double precision" + kind, gated=gated, dtype="float64", state=True)
        for scale in (0.0, uniform(1.5, 3), -uniform(0.2, 2)):
            yield case(f"scale {scale:.1f}{kind}", gated=gated, options={"scale": scale}, state=scale > 0)
        for number in range(5):
            names = ("batch", "length", "heads", "groups", "width", "value_width", "slots")
            sizes = dict(zip(names, (integer(1, 3), integer(2, 8), *(integer(1, 4) for _ in range(5))), strict=True))
            options = {"scale": uniform(-2, 2)} if number % 2 else {}
            yield case(f"sizes {number}{kind}", gated=gated, state=number in (0, 3), options=options, **sizes)
    yield case("query heads and memories in equal number", heads=3, groups=1, state=True)
    yield case("one memory for all", heads=1, groups=3, state=True)
    yield case("slow gates", decay=0.002, state=True)
    yield case("fast gates", decay=3.0, state=True)
    given = case("a memory as in the paper", state=True)
    given["inputs"]["s"] = -torch.expm1(given["inputs"]["g"])
    yield given
    yield case("a stream in two parts", split=integer(2, 5), options={"scale": 0.8})
    yield case("a stream in two parts, from a state", split=integer(2, 5), state=True)
    yield {"name": "experiment", "seed": seed % 1000}

    for gated in (True, False):
        kind = "" if gated else ", no gates"
        for dtype in ("bfloat16", "float16"):
            yield edge(f"{dtype}{kind}", gated=gated, dtype=dtype, length=16, state=True)
        yield edge("the same sizes, other values before" + kind, gated=gated, before=True, state=True)
        for dtype in ("float32", "float64"):
            yield edge(f"no gradient is needed, {dtype}{kind}", gated=gated, dtype=dtype, state=True, frozen=True)
    given = edge("gates close to 0", batch=1, length=20, state=True, decay=3.0)
    given["inputs"]["g"] = (given["inputs"]["g"] * torch.tensor([0.0, 20.0, 1.0, 5.0])).clamp(min=-50)
    yield given
    given = edge("a large state is wiped", length=1, state=True)
    given["inputs"]["g"] -= 12
    yield given | {"state": tuple(20 * item.sign() for item in given["state"])}
    for name, sign in (("rise", 1), ("fall", -1)):
        given = edge(f"logits that {name}", gated=False, state=True, key="far")
        given["inputs"]["s"] += sign * torch.linspace(-180, 180, 7).view(1, 7, 1, 1)
        yield given
    # On a grid, so that no order of the sums rounds these scores.
    given = edge("scores hundreds apart", decay=0.0, key="far", options={"scale": 0.5})
    given["inputs"] |= {name: (8 * given["inputs"][name]).round().clamp(-20, 20) for name in ("q", "k")}
    given["inputs"]["s"] = given["inputs"]["s"].round()
    yield given


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.gsa.naive import naive_recurrent_gsa

    dtype = getattr(torch, case["dtype"])
    given = {name: item.to(dtype) for name, item in case["inputs"].items()}
    if case["state"] is not None:
        given |= {name: item.to(dtype) for name, item in zip(("keys", "values"), case["state"], strict=True)}
    inputs = {name: item.clone().requires_grad_("frozen" not in case) for name, item in given.items()}

    def call(piece, state):
        part = {name: item[:, piece] for name, item in inputs.items() if name in INPUTS}
        more = {} if state is None else {"initial_state": state}
        return naive_recurrent_gsa(**part, **more, **case["options"])

    state = None if case["state"] is None else (inputs["keys"], inputs["values"])
    if "before" in case:
        other = {name: item.flip(1) for name, item in given.items() if name in INPUTS}
        naive_recurrent_gsa(**other, **case["options"])
    with torch.set_grad_enabled("frozen" not in case):
        pieces = [slice(case["split"]), slice(case["split"], None)] if "split" in case else [slice(None)]
        outputs = []
        for piece in pieces:
            output, state = call(piece, state)
            outputs.append(output)
        output = torch.cat(outputs, dim=1)
    seen = {"dtype": str(output.dtype), "shape": list(output.shape), "memories": state is not None}
    results = {"output": output.detach().double()}
    loss = (output.double() * case["weights"][0]).sum()
    if state is not None:
        results["memories"] = [item.detach().double() for item in state]
        loss = loss + sum((item * weight).sum() for item, weight in zip(state, case["weights"][1:], strict=True))
        # Double precision may stay or not.
        if dtype != torch.float64:
            seen["dtypes of the memories"] = [str(item.dtype) for item in state]
    if "frozen" not in case:
        loss.backward()
        results["gradients"] = {
            name: (torch.zeros_like(item) if item.grad is None else item.grad).double() for name, item in inputs.items()
        }
    if "edge" in case:
        seen["unchanged"] = all(torch.equal(item, given[name]) for name, item in inputs.items())
    return {"half" if dtype.itemsize < 4 else case.get("key", "near"): results} | seen
