"""Gated slot attention: outputs, memories and gradients of every option, and continued calls; then the experiment."""

from itertools import product

import torch

INPUTS = ("q", "k", "v", "s", "g")
SQUARE = ("batch", "length", "heads", "width", "value_width", "slots")


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
        options,
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
            "options": options,
        } | more

    def edge(name, options=None, **more):
        return case(name, {"output_final_state": True} | (options or {}), **more) | {"edge": True}

    # Every combination of the options; half of the cases in double precision.
    for number, (gated, state, final, scaled) in enumerate(product((True, False), repeat=4)):
        options = {"output_final_state": True} if final else {}
        options |= {"scale": uniform(0.2, 2.0)} if scaled else {}
        parts = [
            "gates" if gated else "no gates",
            *["initial state"] * state,
            *["final state"] * final,
            *["scale"] * scaled,
        ]
        names = ("batch", "length", "heads", "groups", "width", "value_width", "slots")
        bounds = ((1, 3), (3, 7), (2, 3), (2, 3), (2, 6), (2, 6), (2, 6))
        sizes = {name: integer(*bound) for name, bound in zip(names, bounds, strict=True)}
        dtype = ("float32", "float64")[(number + number // 4) % 2]
        yield case(", ".join(parts), gated=gated, state=state, dtype=dtype, options=options, **sizes)
    both = {"output_final_state": True}
    for gated in (True, False):
        kind = "" if gated else ", no gates"
        yield case("one step" + kind, both, gated=gated, length=1, state=True)
        yield case("a longer stream" + kind, both, gated=gated, batch=1, length=24, width=3)
        yield case("all sizes alike" + kind, both, gated=gated, state=True, **dict.fromkeys(SQUARE, 4), groups=1)
        yield case("sizes of one" + kind, both, gated=gated, **dict.fromkeys(SQUARE, 1), groups=1)
    yield case("query heads and memories in equal number", both, heads=3, groups=1, state=True)
    yield case("one memory for all", both, heads=1, groups=3, state=True)
    yield case("slow gates", both, decay=0.002, state=True)
    yield case("fast gates", both, decay=3.0, state=True)
    # The paper's scores have no scale, either.
    given = case("a memory as in the paper", both | {"scale": 1.0}, state=True)
    given["inputs"]["s"] = -torch.expm1(given["inputs"]["g"])
    yield given
    yield case("a stream in two parts", both | {"scale": uniform(0.3, 1.5)}, split=integer(2, 5))
    yield case("a stream in two parts, from a state", both, split=integer(2, 5), state=True)
    yield {"name": "experiment", "seed": seed % 1000}

    for gated in (True, False):
        kind = "" if gated else ", no gates"
        for dtype in ("bfloat16", "float16"):
            yield edge(f"{dtype}{kind}", gated=gated, dtype=dtype, length=10, state=True)
        for dtype in ("float32", "float64"):
            yield edge(
                f"no gradient is needed, {dtype}{kind}", gated=gated, dtype=dtype, groups=1, state=True, frozen=True
            )
    given = edge("gates close to 0", batch=1, length=12, state=True, decay=3.0)
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
    with torch.set_grad_enabled("frozen" not in case):
        pieces = [slice(case["split"]), slice(case["split"], None)] if "split" in case else [slice(None)]
        outputs = []
        for piece in pieces:
            output, state = call(piece, state)
            outputs.append(output)
        output = torch.cat(outputs, dim=1)
    seen = {"dtype": str(output.dtype), "shape": list(output.shape), "memories": state is not None}
    seen["unchanged"] = all(torch.equal(item, given[name]) for name, item in inputs.items())
    results = {"output": output.detach().double()}
    loss = (output.double() * case["weights"][0]).sum()
    if state is not None:
        results["memories"] = [item.detach().double() for item in state]
        loss = loss + sum((item * weight).sum() for item, weight in zip(state, case["weights"][1:], strict=True))
        # Double precision may stay or not.
        if dtype != torch.float64:
            seen["dtypes of the memories"] = [str(item.dtype) for item in state]
    # Gradients in half precision are rounded by each order of the sums in its own way.
    if "frozen" not in case and dtype.itemsize >= 4:
        loss.backward()
        results["gradients"] = {
            name: (torch.zeros_like(item) if item.grad is None else item.grad).double() for name, item in inputs.items()
        }
    return {"half" if dtype.itemsize < 4 else case.get("key", "near"): results} | seen
