"""yarn: frequencies and attention factors over sizes, bases, scales, bounds and configs; then the experiment."""

import math
import random

import torch


def cases(seed):
    generator = random.Random(seed)

    def case(name, heads=4, width=64, base=10000.0, positions=4096, factor=4.0, **more):
        config = {"hidden_size": heads * width, "num_attention_heads": heads, "rope_theta": base}
        scaling = {"rope_type": "yarn", "factor": factor, **more.pop("scaling", {})}
        config |= {"max_position_embeddings": positions, "rope_scaling": scaling, **more.pop("config", {})}
        extra = {key: more.pop(key) for key in ("class", "default", "device") if key in more}
        return {"name": name, "config": config, "call": more, **extra}

    # Bounds that lie too near to a whole number are for no case.
    def clear(given):
        config, scaling = given.get("class", {}) | given["config"], given["config"]["rope_scaling"]
        width = config.get("head_dim", config["hidden_size"] // config["num_attention_heads"])
        width = int(width * config.get("partial_rotary_factor", 1.0))
        fast = scaling.get("beta_fast") or 32
        first, last = (
            width
            * math.log(config["max_position_embeddings"] / (2 * math.pi * turns))
            / (2 * math.log(config["rope_theta"]))
            for turns in (fast, scaling.get("beta_slow") or 1)
        )
        return first < width - 1 and last > -1 and all(abs(place - round(place)) >= 0.1 for place in (first, last))

    given = [
        case("the usual", width=128),
        case("a narrow head", width=16),
        case("the narrowest", width=2, base=1000.0, positions=300),
    ]
    given += [case(f"a factor of {factor}", factor=factor) for factor in (1, 1.0, 1.5, 2, 16.0, 40, 1000.0)]
    given += [
        case(f"{positions} positions", positions=positions) for positions in (5, 24, 64, 300, 2048, 131072, 10**7)
    ]
    given += [case(f"a base of {base}", base=base) for base in (10, 30.5, 500.0, 1e6, 500000)]
    given += [case(f"a width of {width}", width=width, heads=3) for width in (6, 20, 34, 80, 256, 512)]
    given += [
        case(f"bounds {fast} and {slow}", scaling={"beta_fast": fast, "beta_slow": slow})
        for fast, slow in (
            (16, 2),
            (64, 0.5),
            (8, 8),
            (1.5, 1),
            (1000, 3),
            (0.5, 0.01),
            (40, None),
            (None, 4),
            (None, None),
        )
    ]
    given += [
        case(f"an attention factor of {value}", scaling={"attention_factor": value})
        for value in (1.0, 0.5, 2, 0, -0.75, None)
    ]
    given += [case(f"an own width of {width}", config={"head_dim": width}) for width in (8, 96, 128)]
    given += [
        case(f"{part} of the width", width=80, config={"partial_rotary_factor": part})
        for part in (0.25, 0.5, 0.4, 0.33, 1.0)
    ]
    # A ramp that would end after the last number that it may end at, and one without any width.
    wide = {"beta_fast": 100, "beta_slow": 0.5}
    given += [
        case(f"a ramp beyond {width}", width=width, base=10.0, positions=2000, scaling=wide) for width in (32, 64)
    ]
    given += [case(f"a ramp of no width, {positions} positions", positions=positions) for positions in (4, 5, 6)]
    given.append(case("part of an own width", config={"head_dim": 100, "partial_rotary_factor": 0.5}))
    given.append(case("part of an odd width", config={"head_dim": 25, "partial_rotary_factor": 0.99}))
    given.append(case("an own width, sizes with a remainder", config={"head_dim": 32, "hidden_size": 250}))
    # Attributes that the object itself does not hold: one of its class, and one of another name.
    kind = {"partial_rotary_factor": 0.5, "attribute_map": {"head_dim": "kv_channels"}}
    given.append(case("attributes of a class", config={"head_dim": 48}, **{"class": kind}))
    given += [case(f"a default of {dtype}", default=dtype) for dtype in ("float64", "bfloat16")]
    given += [case(f"a device of {device}", device=device) for device in ("cpu", None)]
    other = {"type": "linear", "original_max_position_embeddings": 99, "truncate": False, "mscale": 0.7}
    other |= {"mscale_all_dim": 0.6, "attn_factor": 3.0, "extrapolation_factor": 0.5, "rope_theta": 500.0}
    given.append(case("entries that do not matter", scaling=other))
    given.append(case("a length that does not matter", seq_len=20000))
    given.append(case("a short length that does not matter", seq_len=3))
    for _ in range(12):
        given.append(
            case(
                f"drawn {len(given)}",
                width=2 * generator.randint(2, 100),
                base=10 ** generator.uniform(2, 6),
                positions=generator.randint(40, 50000),
                factor=generator.uniform(1, 60),
                scaling={"beta_fast": generator.uniform(5, 100), "beta_slow": generator.uniform(0.3, 4)},
            )
        )
    for item in given:
        # Another number of positions, until the case is clear.
        while not clear(item):
            item["config"]["max_position_embeddings"] = int(item["config"]["max_position_embeddings"] * 1.03) + 1
        # Another base for a later call, until it is clear as well.
        base = 0.9 * item["config"]["rope_theta"]
        while not clear(item | {"config": item["config"] | {"rope_theta": base}}):
            base *= 0.97
        yield item | {"base": base}
    yield case("another argument", base_=3.0)
    yield case("another argument that is None", dim=None)
    yield case("another argument beside a length", seq_len=20, dim=8)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from transformers import PretrainedConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    found = []
    config = type("Config", (PretrainedConfig,), case.get("class", {}))(**case["config"])
    scaling = config.rope_scaling
    # Twice with one config, then with parts of it changed.
    for turn in range(4):
        if turn == 2:
            scaling["factor"] = (1 + scaling["factor"]) / 2
        if turn == 3:
            config.rope_theta = case["base"]
        before = config.to_dict()
        default = torch.get_default_dtype()
        torch.set_default_dtype(getattr(torch, case.get("default", "float32")))
        try:
            device = case.get("device", torch.device("cpu"))
            frequencies, factor = ROPE_INIT_FUNCTIONS["yarn"](config, device, **case["call"])
        except ValueError:
            return {"refused": True}
        finally:
            torch.set_default_dtype(default)
        facts = [
            str(frequencies.dtype),
            list(frequencies.shape),
            str(frequencies.device),
            isinstance(factor, int | float),
        ]
        kept = config.to_dict() == before
        found.append({"frequencies": frequencies.clone(), "factor": float(factor), "facts": facts, "kept": kept})
        frequencies.zero_()
    return {"found": found}
