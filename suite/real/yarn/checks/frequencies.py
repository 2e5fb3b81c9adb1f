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
        return {"name": name, "config": config, "call": more}

    # Bounds that lie too near to a whole number are for no case.
    def clear(given):
        config, scaling = given["config"], given["config"]["rope_scaling"]
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
        for fast, slow in ((16, 2), (64, 0.5), (8, 8), (1.5, 1), (1000, 3), (40, None), (None, 4), (None, None))
    ]
    given += [
        case(f"an attention factor of {value}", scaling={"attention_factor": value}) for value in (1.0, 0.5, 2, 0, None)
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
    given.append(case("entries that do not matter", scaling={"type": "linear", "original_max_position_embeddings": 99}))
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
        yield item
    yield case("another argument", base_=3.0)
    yield case("another argument that is None", dim=None)
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from transformers import PretrainedConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    found = []
    config = PretrainedConfig(**case["config"])
    # Twice with one config, then with a part of it changed.
    for change in ({}, {}, {"rope_theta": 3.0 + case["config"]["rope_theta"]}):
        for name, value in change.items():
            setattr(config, name, value)
        before = config.to_dict()
        try:
            frequencies, factor = ROPE_INIT_FUNCTIONS["yarn"](config, torch.device("cpu"), **case["call"])
        except ValueError:
            return {"refused": True}
        facts = [
            str(frequencies.dtype),
            list(frequencies.shape),
            str(frequencies.device),
            isinstance(factor, int | float),
        ]
        kept = config.to_dict() == before
        if change:
            # Its bounds may lie near to a whole number.
            found.append({"facts": facts, "first": frequencies[:1], "kept": kept})
        else:
            found.append({"frequencies": frequencies.clone(), "factor": float(factor), "facts": facts, "kept": kept})
            frequencies.zero_()
    return {"found": found}
