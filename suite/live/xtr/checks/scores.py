"""XTR scores and gradients over sizes, numbers of retrieved tokens, masks, chunks and dtypes; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def kept(*shape):
        """A mask with gaps, with a token in each row."""
        mask = torch.rand(*shape, generator=generator) < 0.6
        return mask | (
            torch.arange(shape[-1]) == torch.randint(shape[-1], shape[:-1], generator=generator).unsqueeze(-1)
        )

    def case(name, top=None, masks="", double=False, sizes=None, **more):
        q, d, n, qt, dt, dim = sizes or (integer(2, 3), 2, integer(1, 3), integer(2, 4), integer(2, 4), integer(3, 5))
        pool = d * n * dt
        queries, documents = normal(q, qt, dim), normal(d, n, dt, dim)
        given = {"queries": queries, "documents": documents, "options": {}}
        if top:
            given["options"]["top_k"] = {"some": integer(2, max(2, pool // 3)), "most": pool - integer(1, 2)}.get(
                top, top
            )
        if "q" in masks:
            given["options"]["queries_mask"] = kept(q, qt)
        if "d" in masks:
            given["options"]["documents_mask"] = kept(d, n, dt)
        if "0" in masks:
            given["queries"] = queries * kept(q, qt).unsqueeze(-1)
            given["documents"] = documents * kept(d, n, dt).unsqueeze(-1)
        if not double:
            given |= {side: given[side].float() for side in ("queries", "documents")}
        return {"name": name, "weights": normal(q, d * n), **given} | more

    for masks in ("", "q", "d", "qd", "0"):
        yield case(f"masks {masks or 'none'}, some retrieved", "some", masks, double=masks in ("q", "0"))
        yield case(f"masks {masks or 'none'}, most or all retrieved", "most" if masks in ("", "d") else None, masks)
    given = case("a token of zeros in a document", "some", "qd", sizes=(2, 2, 2, 2, 3, 4))
    given["documents"][1, 0, 0] = 0.0
    given["options"]["documents_mask"][1, 0, 0] = True
    yield given
    given = case("a token of zeros in a query", None, "qd", frozen=True)
    given["queries"][0, 0] = 0.0
    given["options"]["queries_mask"][0, 0] = True
    yield given
    yield case("one token retrieved", 1, "d")
    yield case("matched groups", "some", sizes=(3, 3, 2, 3, 4, 4))
    yield case("one document", 2, "q", sizes=(2, 1, 1, 3, 4, 3))
    given = case("other strides", "some", sizes=(3, 2, 2, 4, 3, 5))
    given["queries"] = given["queries"].transpose(0, 2).contiguous().transpose(0, 2)
    yield given | {"documents": given["documents"].permute(3, 1, 2, 0).contiguous().permute(3, 1, 2, 0)}
    yield case("one query", "some", "d", sizes=(1, 3, 2, 3, 3, 4))
    yield case("one token each", 3, sizes=(3, 3, 2, 1, 1, 4))
    yield case("more tokens than usually retrieved", None, sizes=(2, 10, 30, 2, 1, 4))
    for masks, budget in product(("", "qd"), ("small", "middle", "large")):
        top = 1000 if budget == "middle" and masks else "some"
        given = case(f"chunks, masks {masks or 'none'}, {budget} budget", top, masks, sizes=(2, 2, 3, 2, 3, 4))
        # A document needs 3 * (2 * 2 + 4) = 24 elements.
        given["options"]["chunk_elements"] = {"small": 1, "middle": 24 * integer(2, 5), "large": 10**6}[budget]
        yield given
    for shift in (-3.0, 3.0):
        given = case(f"similarities {'below' if shift < 0 else 'above'} zero", "some", "d", sizes=(2, 2, 2, 3, 3, 3))
        yield given | {"queries": 0.5 * given["queries"] + shift, "documents": 0.5 * given["documents"] + 2.0}
    given = case("zeros by the mask, negative similarities", "most", "", sizes=(2, 2, 2, 3, 3, 3))
    zeros = torch.tensor([[True, False, True], [True, True, False]])
    documents = (0.5 * given["documents"] + 2.0) * zeros[:, None, :, None]
    yield given | {"queries": (0.5 * given["queries"] - 3.0) * zeros[:, :, None], "documents": documents}
    for kind in ("float", "integer"):
        given = case(f"masks as {kind} numbers", "some", "qd")
        options = {
            name: (item.float() if kind == "float" else item.long()) if name != "top_k" else item
            for name, item in given["options"].items()
        }
        yield given | {"options": options}
    for chunks, masked in ((False, True), (True, False)):
        given = case(f"an empty document, {'chunks' if chunks else 'whole'}, {'masked' if masked else 'zeros'}", "most")
        if masked:
            mask = torch.ones(given["documents"].shape[:3], dtype=torch.bool)
            mask[1, -1] = False
            given["options"]["documents_mask"] = mask
        else:
            given["documents"][1, -1] = 0.0
        if chunks:
            given["options"]["chunk_elements"] = integer(1, 60)
        yield given
    given = case("a query without tokens", "some")
    given["options"]["queries_mask"] = torch.arange(given["queries"].shape[0])[:, None] > 0
    given["options"]["queries_mask"] = given["options"]["queries_mask"].expand(given["queries"].shape[:2]).clone()
    yield given
    for function in ("xtr_kd_scores", "xtr_scores_pairwise", "XTRScores"):
        n = 1 if function == "xtr_scores_pairwise" else 2
        yield case(function, "some", "qd", sizes=(3, 3, n, 3, 3, 4), function=function)
    for chunks, top in product((False, True), ("some", "most", None)):
        given = case(
            f"far below zero, {'chunks' if chunks else 'whole'}, {top or 'all'}", top, "qd", chunks, (2, 2, 2, 3, 3, 4)
        )
        given["queries"] = 25 * (given["queries"].tanh() - 3.0)
        given["documents"] = 5 * (given["documents"].tanh() + 3.0)
        given["options"]["documents_mask"][0, 0, 0] = False
        given["options"]["documents_mask"][0, 0, 1:] = True
        if chunks:
            given["options"]["chunk_elements"] = integer(1, 60)
        yield given
    given = case("far from zero", "some", "qd")
    yield given | {side: 44 * given[side].tanh() for side in ("queries", "documents")}
    for given_mask, chunks in product("qd", (False, True)):
        side, other = ("queries", "documents") if given_mask == "q" else ("documents", "queries")
        name = f"zeros on both sides, a mask of the {side}{', chunks' if chunks else ''}"
        given = case(name, None if given_mask == "q" else "some", f"{given_mask}0", sizes=(3, 2, 2, 4, 4, 4))
        # Of the side with a mask, the mask alone decides: one row of zeros is a token, and some others are padding.
        given[side] = normal(*given[side].shape).float()
        row = (0,) * (given[side].dim() - 2)
        given[side][(*row, 0)] = 0.0
        given["options"][f"{side}_mask"][(*row, 0)] = True
        given["options"][f"{side}_mask"][(*row, 1)] = False
        given[other][(0,) * (given[other].dim() - 1)] = 0.0
        if chunks:
            given["options"]["chunk_elements"] = integer(1, 60)
        yield given | {"frozen": given_mask == "q"}
    yield {"name": "experiment", "seed": seed % 1000}

    for top in (0, -integer(1, 9), True):
        yield case(f"top_k of {top if top >= 0 else 'less'}", edge=True, refused=True) | {"options": {"top_k": top}}
    for kind in ("lists", "arrays"):
        yield case(kind, "some", edge=True, given=kind)
    for chunks in (False, True):
        given = case(f"integers, {'chunks' if chunks else 'whole'}", edge=True, frozen=True, masks="qd")
        # Distinct squares keep the similarities of a query of one number apart.
        values = (torch.randperm(24, generator=generator) - 12).reshape(2, 3, 4, 1)
        mask = kept(2, 3, 4)
        options = {"top_k": integer(3, 9), "documents_mask": mask} | ({"chunk_elements": 20} if chunks else {})
        queries = torch.tensor([[[1], [-2]], [[3], [-1]]])
        yield given | {"queries": queries, "documents": values, "options": options, "weights": normal(2, 6)}
    for integers in ("queries", "documents"):
        given = case(f"{integers} alone are integers", "some", edge=True, frozen=True)
        yield given | {integers: torch.randint(-50, 51, given[integers].shape, generator=generator)}
    for chunks in (False, True):
        given = case(f"half precision, {'chunks' if chunks else 'whole'}", "some", "qd", edge=True, half=True)
        if chunks:
            given["options"]["chunk_elements"] = 30
        yield given | {name: given[name].half() for name in ("queries", "documents")}
    given = case("sums beyond half precision", 1000, edge=True, half=True, sizes=(2, 2, 1, 24, 2, 3))
    yield given | {name: (50 + 2 * given[name].abs()).half() for name in ("queries", "documents")}
    for chunks in (False, True):
        given = case(f"close in double precision, {'chunks' if chunks else 'whole'}", 1, "", True, (2, 2, 1, 4, 4, 5))
        # The second document repeats the first, and each token is nearer by a billionth in one of them.
        tokens = torch.linalg.qr(normal(5, 5)).Q[:4] * 3.0 + 0.1 * normal(4, 5)
        signs = (-1.0) ** (torch.arange(4, dtype=torch.float64) + integer(0, 1))
        given["documents"] = torch.stack([tokens, tokens * (1 + 1e-9 * signs[:, None])]).unsqueeze(1)
        given["queries"] = tokens.flip(0) + 0.1 * normal(2, 4, 5)
        if chunks:
            given["options"]["chunk_elements"] = 30
        yield given | {"edge": True}
    given = case("masks with other strides", "some", "qd", sizes=(3, 2, 2, 3, 4, 4), edge=True)
    for name in ("queries_mask", "documents_mask"):
        mask = given["options"][name]
        given["options"][name] = mask.transpose(0, -1).contiguous().transpose(0, -1)
    yield given
    # An ordinary case, last so that the draws of the others stay as they are.
    given = case("zeros by the mask, negative similarities, chunks", "most", "", sizes=(2, 2, 2, 3, 3, 3))
    given["options"]["chunk_elements"] = integer(1, 60)
    documents = (0.5 * given["documents"] + 2.0) * zeros[:, None, :, None]
    yield given | {"queries": (0.5 * given["queries"] - 3.0) * zeros[:, :, None], "documents": documents}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from sentence_transformers.multi_vector_encoder import scoring

    options = {name: item.clone() if isinstance(item, torch.Tensor) else item for name, item in case["options"].items()}
    if case.get("refused"):
        try:
            scoring.xtr_scores(case["queries"], case["documents"], **options)
        except ValueError:
            return {"raises": "ValueError"}
        return {"raises": "nothing"}
    kind = case.get("given")
    if kind:
        turned = {"lists": lambda item: item.tolist(), "arrays": lambda item: item.numpy()}
        found = scoring.xtr_scores(*(turned[kind](case[side]) for side in ("queries", "documents")), **options)
        return {"scores": found, "dtype": str(found.dtype)}
    queries, documents = case["queries"].clone(), case["documents"].clone()
    if not case.get("frozen"):
        queries.requires_grad_()
        documents.requires_grad_()
    function = case.get("function", "xtr_scores")
    if function == "XTRScores":
        found = scoring.XTRScores(options.pop("top_k"))(queries, documents, **options)
    else:
        found = getattr(scoring, function)(queries, documents, **options)
    facts = [str(found.dtype), list(found.shape)]
    if case.get("half"):
        return {"facts": facts, "finite": found.isfinite().all().item()}
    results = [found.detach()]
    if not case.get("frozen"):
        weights = case["weights"].float().flatten()[: found.numel()].reshape(found.shape)
        results += torch.autograd.grad((found * weights).sum(), [queries, documents])
    facts += [torch.equal(queries.detach(), case["queries"]), torch.equal(documents.detach(), case["documents"])]
    facts += [torch.equal(item, case["options"][name]) for name, item in options.items() if name.endswith("mask")]
    if function == "xtr_scores":
        # Another batch, without what was said of the first.
        with torch.no_grad():
            if not case.get("frozen"):
                results.append(scoring.xtr_scores(1.5 * queries, documents[:, :1].flip(3), top_k=2))
            if "queries_mask" in options:
                options["queries_mask"] = options["queries_mask"].flip(1)
            results.append(scoring.xtr_scores(queries.flip(0), documents.flip(0), **options))
    return {"scores": results, "facts": facts}
