"""Stand-in: activations by name."""

from torch.nn import functional as F

ACT2FN = {"silu": F.silu}
