"""Returns tensors without plain memory: sparse, quantized, meta, lazily conjugated, and with gradients."""

import torch
from report import report

EVIDENCE = r"(?s)a sparse or quantized tensor.*a sparse or quantized tensor.*meta"


def score(logits, lengths):
    zeros = torch.zeros(len(lengths))
    scores = {
        2: zeros.to_sparse(),
        5: torch.quantize_per_tensor(zeros, 0.1, 0, torch.qint8),
        8: zeros.to("meta"),
        3: zeros.to(torch.complex64).conj(),
        12: zeros.requires_grad_(),
    }
    return {**report(torch.zeros(len(lengths))), "scores": scores[len(lengths)]}
