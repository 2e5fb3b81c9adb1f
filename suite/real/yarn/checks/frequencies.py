"""yarn: frequencies and attention factors over sizes, bases, scales, bounds and configs; then the experiment."""

import math
import random

import torch


def cases(seed):
    generator = random.Random(seed)

    def case(name, width=None, base=None, positions=None, factor=None, scaling=None, later=(), call=None, **more):
        """A config; what isn't given is drawn. Settings that lie too near to a whole number are drawn again."""
        heads = generator.randint(1, 5)
        while True:
            drawn = width or 2 * generator.randint(8, 70)
            config = {"hidden_size": heads * drawn, "num_attention_heads": heads}
            config["rope_theta"] = base or generator.choice([10000.0, 500000, 10 ** generator.uniform(2, 6)])
            config["max_position_embeddings"] = int(10 ** generator.uniform(2.5, 5))
            if positions:
                config["max_position_embeddings"] = generator.randint(*positions)
            config["rope_scaling"] = {"rope_type": "yarn", "factor": factor or generator.uniform(1.5, 32)}
            config["rope_scaling"] |= scaling or {}
            config |= more.get("config", {})
            changes = [_merged(config, later[: count + 1]) for count in range(len(later))]
            if all(_is_clear(settings) for settings in (config, *changes)):
                break
        given = {"name": name, "config": config, "later": list(later), "call": call or {}}
        return given | {"default": more.get("default", "float32"), "edge": more.get("edge", False)}

    for count in range(8):
        yield case(f"drawn {count}")
    for factor in (1, 2, 16.0, 1000.0):
        yield case(f"a factor of {factor}", factor=factor)
    for low, high in ((40, 100), (1000, 3000), (10**6, 10**7)):
        yield case(f"{low} positions or more", positions=(low, high), base=10000.0)
    for low, high in ((10, 40), (100, 900), (5 * 10**5, 10**6)):
        yield case(f"a base of {low} or more", base=generator.uniform(low, high))
    for width in (4, 6, 16, 128, 512):
        yield case(f"a width of {width}", width=width)
    yield case("one pair", width=2, base=1000.0)
    for fast, slow in ((16, 2), (64, 0.5), (8, 8), (1.5, 1), (40, None), (None, 4), (None, None)):
        yield case(f"bounds {fast} and {slow}", scaling={"beta_fast": fast, "beta_slow": slow})
    # A ramp that would end after the last number that it may end at.
    for width in (16, 32):
        wide = {"beta_fast": generator.uniform(90, 120), "beta_slow": generator.uniform(0.3, 0.6)}
        yield case(f"a ramp beyond {width}", width=width, base=8.5, positions=(1500, 3000), scaling=wide)
    for value in (1.0, round(generator.uniform(0.3, 0.9), 3), 2, None):
        yield case(f"an attention factor of {value}", scaling={"attention_factor": value})
    for width in (8, 96):
        yield case(f"an own width of {width}", config={"head_dim": width})
    for part in (0.25, 0.4, 1.0):
        yield case(f"{part} of the width", width=80, config={"partial_rotary_factor": part})
    yield case("part of an own width", config={"head_dim": 100, "partial_rotary_factor": 0.5})
    yield case("part of a width, not whole", width=52, config={"partial_rotary_factor": 0.51})
    yield case("other entries", scaling={"original_max_position_embeddings": 99, "truncate": False, "mscale": 0.7})
    for length in (3, 200000):
        yield case(f"a call of length {length}", call={"seq_len": length})
    for count in range(6):
        fast = generator.uniform(4, 60)
        scaling = {"beta_fast": fast, "beta_slow": generator.uniform(0.5, 3), "attention_factor": None}
        config = {"head_dim": 2 * generator.randint(10, 90), "partial_rotary_factor": generator.choice([0.5, 1.0])}
        config["head_dim"] *= 2
        yield case(f"all settings {count}", scaling=scaling, config=config, call={"seq_len": 20})
    yield {"name": "experiment", "seed": seed % 1000}

    for count in range(2):
        yield case(f"a ramp of no width {count}", positions=(5, 6), base=10000.0, edge=True)
    yield case("an attention factor of 0", scaling={"attention_factor": 0}, edge=True)
    for dtype in ("float64", "bfloat16"):
        yield case(f"a default of {dtype}", default=dtype, edge=True)
    later = [{"factor": generator.uniform(40, 60)}, {"rope_theta": 3e4}, {"beta_fast": 17}, {"attention_factor": 0.7}]
    yield case("settings that change", later=[*later, {"max_position_embeddings": 777}], edge=True)
    for call in ({"base": 3.0}, {"dim": None}, {"seq_len": 20, "dim": 8}):
        yield case(f"further arguments: {', '.join(call)}", call=call, edge=True)


def _merged(config, changes):
    """A config with some settings changed, each where it belongs."""
    config = config | {"rope_scaling": dict(config["rope_scaling"])}
    for change in changes:
        for name, value in change.items():
            (config if name in config else config["rope_scaling"])[name] = value
    return config


def _is_clear(config):
    """Whether the ends of the ramp are where the instruction says."""
    scaling = config["rope_scaling"]
    width = config.get("head_dim", config["hidden_size"] // config["num_attention_heads"])
    width = int(width * config.get("partial_rotary_factor", 1.0))
    length, base = config["max_position_embeddings"], config["rope_theta"]
    first, last = (
        width * math.log(length / (2 * math.pi * turns)) / (2 * math.log(base))
        for turns in (scaling.get("beta_fast") or 32, scaling.get("beta_slow") or 1)
    )
    return first < width - 1 and last > -1 and all(abs(place - round(place)) >= 0.1 for place in (first, last))


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from transformers import PretrainedConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = PretrainedConfig(**case["config"])
    found = []
    for change in ({}, *case["later"]):
        for name, value in change.items():
            if name in case["config"]:
                setattr(config, name, value)
            else:
                config.rope_scaling[name] = value
        before = config.to_dict()
        default = torch.get_default_dtype()
        torch.set_default_dtype(getattr(torch, case["default"]))
        try:
            frequencies, factor = ROPE_INIT_FUNCTIONS["yarn"](config, torch.device("cpu"), **case["call"])
        except ValueError:
            return {"refused": True}
        finally:
            torch.set_default_dtype(default)
        facts = [str(frequencies.dtype), list(frequencies.shape), config.to_dict() == before]
        found.append({"frequencies": frequencies, "factor": float(factor), "facts": facts})
    return {"found": found}
