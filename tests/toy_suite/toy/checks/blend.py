"""blend: the value, for none, one and many."""

import random


def cases(seed):
    generator = random.Random(seed)
    for count in (0, 1, 2, 5):
        yield {
            "name": f"{count} values",
            "values": [generator.uniform(-3, 3) for _ in range(count)],
            "scale": generator.uniform(2, 5),
        }


def observe(case):
    from blending import Blender

    return {"blend": Blender(case["scale"]).blend(case["values"])}
