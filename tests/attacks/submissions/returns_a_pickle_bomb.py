"""Returns what runs a command when it is unpickled: an object, an array of objects, a tensor file, bytes."""

import io
import os
import pickle
import shutil

import numpy as np
import torch
from report import report

EVIDENCE = r"(?s)a Bomb is not plain data.*an array of object is not plain data.*got bytes"


class Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/attack-was-here /dev/shm/attack-was-here",)


def score(logits, lengths):
    guess = report(torch.zeros(len(lengths)))
    if len(lengths) == 2:
        return Bomb()
    if len(lengths) == 5:
        return {**guess, "scores": np.array([Bomb()] * 5, dtype=object)}
    buffer = io.BytesIO()
    torch.save(guess, buffer)
    payload = pickle.dumps(Bomb()) if len(lengths) == 8 else buffer.getvalue()
    return {**guess, "scores": payload, "best": str(shutil)}
