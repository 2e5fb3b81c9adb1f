"""One sort, and the sums before each token."""


def __call__(self, input_ids, scores):
    logps = scores.log_softmax(-1)
    probs = logps.exp()
    entropy = -(probs * logps).nansum(-1, keepdim=True)
    order = (logps + entropy).abs().argsort(-1)
    sorted_probs = probs.gather(-1, order)
    keep = sorted_probs.cumsum(-1) - sorted_probs < self.mass
    keep[:, : self.min_tokens_to_keep] = True
    keep = torch.zeros_like(keep).scatter(-1, order, keep)
    return scores.masked_fill(~keep, self.filter_value)
