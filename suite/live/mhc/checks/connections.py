"""Weights, collapsed streams and gradients over sizes and settings, for both modules; then the experiment."""

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def case(name, head=False, rows=None, steps=None, streams=None, width=None, more=0, strength=1.0, **settings):
        rows, steps, streams, width = (
            rows or integer(1, 3),
            steps or integer(2, 4),
            streams or integer(2, 5),
            width or integer(3, 6),
        )
        wide = (2 + streams) * streams if not head else streams
        settings = {
            "hc_sinkhorn_iters": integer(2, 6),
            "hc_eps": uniform(0.01, 0.2),
            "rms_norm_eps": uniform(0.05, 0.5),
        } | settings
        return {
            "name": name,
            "head": head,
            "settings": settings | {"hc_mult": streams, "hidden_size": width},
            "parameters": [
                {
                    "fn": strength * normal(wide, streams * width) / width**0.5,
                    "base": normal(wide),
                    "scale": normal(1 if head else 3) + 0.5,
                }
                for _ in range(1 + more)
            ],
            "streams": [uniform(0.4, 2.5) * normal(rows, steps, streams, width) for _ in range(1 + more)],
            "weights": [
                normal(rows, steps, streams),
                normal(rows, steps, streams, streams),
                normal(rows, steps, width),
            ],
            "changes": [{}] * (1 + more),
        }

    usual = {"hc_eps": 1e-6, "rms_norm_eps": 1e-6}
    for number in range(6):
        yield case(f"connection, {number}", more=number % 2)
    for number in range(4):
        yield case(f"head, {number}", True, more=number % 2)
    for name, iterations in (("1", 1), ("2", 2), ("3", 3), ("some", integer(7, 12)), ("many", 20)):
        yield case(f"iterations {name}", hc_sinkhorn_iters=iterations)
    yield case("the usual constants", **usual, hc_sinkhorn_iters=20, streams=4)
    yield case("the usual constants, few iterations", **usual, hc_sinkhorn_iters=2, streams=4)
    yield case("the usual constants, one iteration", **usual, hc_sinkhorn_iters=1)
    yield case("the usual constants, head", True, **usual)
    yield case("a large constant", hc_eps=0.3, hc_sinkhorn_iters=integer(2, 4))
    yield case("a large constant, head", True, hc_eps=0.3)
    for constant in (0.0, 1.0):
        yield case(f"a constant of {constant:.0f}", hc_eps=constant)
        yield case(f"a constant of {constant:.0f}, head", True, hc_eps=constant)
    yield case("one stream", streams=1)
    yield case("one stream, head", True, streams=1)
    yield case("eight streams", streams=8, rows=1)
    yield case("width one", width=1, rows=2)
    yield case("one position", rows=1, steps=1)
    yield case("as many streams as positions and rows", rows=3, steps=3, streams=3, width=3)
    yield case("small streams", rms_norm_eps=uniform(1, 3))
    yield {"name": "experiment", "seed": seed % 1000}
    for name, iterations in (("more than usual", integer(28, 40)), ("a hundred", integer(90, 110))):
        given = case(f"iterations, {name}", **usual, hc_sinkhorn_iters=iterations, streams=3, strength=0.1)
        # A matrix that is nearly triangular converges slowly.
        logits = uniform(0, 1) * normal(3, 3) - 14.0 * torch.ones(3, 3).tril(-1)
        given["parameters"][0]["base"][6:] = logits.flatten()
        yield given

    def edge(case):
        return case | {"edge": True}

    for head in (False, True):
        kind = "head" if head else "connection"
        for constants in ({}, usual):
            yield edge(case(f"bfloat16, {kind}{', usual' if constants else ''}", head, **constants) | {"half": True})
        given = case(f"large logits, {kind}", head, strength=3.0, hc_eps=uniform(0.01, 0.1))
        given["parameters"][0]["base"] = 100 * given["parameters"][0]["base"].clamp(-2.5, 2.5)
        # Beyond the range of exp in single precision under every seed.
        given["parameters"][0]["base"][-1] = 250.0
        yield edge(given)
        given = case(f"settings that change, {kind}", head, more=2)
        name = "eps" if head else "hc_eps"
        change = [{name: uniform(0.01, 0.2)} | ({} if head else {"hc_sinkhorn_iters": integer(1, 6)}) for _ in range(2)]
        yield edge(given | {"changes": [{}, *change]})
    for head in (False, True):
        given = case(f"another constant of the norm, {'head' if head else 'connection'}", head, more=1)
        yield edge(given | {"changes": [{}, {"input_norm.eps": uniform(1, 3)}]})


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from transformers.models.deepseek_v4.configuration_deepseek_v4 import DeepseekV4Config
    from transformers.models.deepseek_v4.modeling_deepseek_v4 import DeepseekV4HyperConnection, DeepseekV4HyperHead

    kind = DeepseekV4HyperHead if case["head"] else DeepseekV4HyperConnection
    module = kind(DeepseekV4Config(**case["settings"]))
    half = case.get("half", False)
    single, rounded, facts = [], [], []
    for drawn, parameters, change in zip(case["streams"], case["parameters"], case["changes"], strict=True):
        for name, value in change.items():
            setattr(module.input_norm if name == "input_norm.eps" else module, name.rpartition(".")[2], value)
        for name, value in parameters.items():
            getattr(module, f"hc_{name}" if case["head"] else name).data.copy_(value)
        streams = drawn.to(torch.bfloat16 if half else torch.float32).requires_grad_()
        kept = streams.detach().clone()
        results = module(streams)
        facts.append([isinstance(results, tuple), torch.equal(streams, kept), sorted(module.state_dict())])
        results = [results] if case["head"] else list(results)
        facts.append([[str(result.dtype), list(result.shape)] for result in results])
        rounded.append(results[-1].detach().float()) if half else single.append(results[-1].detach())
        single.append([result.detach() for result in results[:-1]])
        if not half:
            weights = case["weights"][-len(results) :]
            loss = sum((result * weight).sum() for result, weight in zip(results, weights, strict=True))
            single.append(list(torch.autograd.grad(loss, [streams, *module.parameters()])))
    settings = [module.eps] if case["head"] else [module.hc_eps, module.hc_sinkhorn_iters]
    return {"single": single, "half": rounded, "facts": [facts, settings, module.hc_mult]}
