"""Outputs as attention over the corrections of all steps before, eight steps at a time; no memory in between."""


def _some(q, k, v, beta, g, start):
    """A few steps from a memory on, and the memory after them."""

    def read(vectors, step, new):
        """What the memory of a step says, given the corrections that it holds."""
        # Sums of the gates from each step on; nothing decays what the step itself has written.
        left = g[:, : step + 1].flip(1).cumsum(1).flip(1)
        said = torch.einsum("bhk,bhkv,bh->bhv", vectors, start, left[:, 0].exp())
        if new:
            left = torch.cat([left[:, 1:], torch.zeros_like(left[:, :1])], dim=1)[:, : len(new)]
            weights = torch.einsum("bhk,bshk,bsh->bsh", vectors, k[:, : len(new)], left.exp())
            said = said + torch.einsum("bsh,bshv->bhv", weights, torch.stack(new, dim=1))
        return said

    outputs, new = [], []
    for step in range(k.shape[1]):
        new.append(beta[:, step].unsqueeze(-1) * (v[:, step] - read(k[:, step], step, new)))
        outputs.append(read(q[:, step], step, new))
    left = g.flip(1).cumsum(1).flip(1)
    after = torch.cat([left[:, 1:], torch.zeros_like(left[:, :1])], dim=1).exp()
    final = torch.einsum("bsh,bshk,bshv->bhkv", after, k, torch.stack(new, dim=1))
    return torch.stack(outputs, dim=1), final + left[:, 0].exp()[..., None, None] * start


def naive_recurrent_gated_delta_rule(q, k, v, beta, g, scale=None, initial_state=None, output_final_state=False):
    q, k, v, beta, g = (item.float() for item in (q, k, v, beta, g))
    q = q * (1 / q.shape[-1] ** 0.5 if scale is None else scale)
    state = torch.zeros(*k[:, 0].shape, v.shape[-1]) if initial_state is None else initial_state.float()
    outputs = []
    for parts in zip(*(item.split(8, dim=1) for item in (q, k, v, beta, g))):
        some, state = _some(*parts, state)
        outputs.append(some)
    return torch.cat(outputs, dim=1), (state if output_final_state else None)
