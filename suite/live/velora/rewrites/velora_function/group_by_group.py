"""Takes one group after the other, with slices of the features, and no padding."""


def _slices(features, num_groups, size):
    return [slice(min(start, features), min(start + size, features)) for start in range(0, num_groups * size, size)]


def _compress_activations(x, embed, num_groups):
    tokens = x.reshape(-1, x.shape[-1])
    parts = [tokens[:, some] for some in _slices(x.shape[-1], num_groups, len(embed))]
    return torch.stack([(part * embed[: part.shape[1]]).sum(dim=1) for part in parts], dim=1)


def _reconstruct_activations(compressed, embed, in_features, velora_scale):
    slices = _slices(in_features, compressed.shape[1], len(embed))
    pieces = [torch.outer(column, embed[: some.stop - some.start]) for column, some in zip(compressed.T, slices)]
    return torch.cat(pieces, dim=1) * velora_scale


class VeloraFunction:
    @staticmethod
    def forward(ctx, input, weight, bias, embed, num_groups, velora_scale):
        numbers = _compress_activations(input, embed.to(input.dtype), num_groups)
        ctx.save_for_backward(numbers, weight, embed)
        ctx.rest = input.shape[-1], velora_scale
        ctx.dtypes = input.dtype, None if bias is None else bias.dtype
        return F.linear(input, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        numbers, weight, embed = ctx.saved_tensors
        features, scale = ctx.rest
        kind = grad_output.dtype
        tokens = grad_output.reshape(-1, weight.shape[0])
        gradients = [None] * 6
        if ctx.needs_input_grad[0]:
            gradients[0] = torch.matmul(grad_output, weight.to(kind)).to(ctx.dtypes[0])
        if ctx.needs_input_grad[1]:
            rebuilt = _reconstruct_activations(numbers.to(kind), embed.to(kind), features, scale)
            gradients[1] = torch.einsum("to,ti->oi", tokens, rebuilt).to(weight.dtype)
        if ctx.needs_input_grad[2]:
            gradients[2] = tokens.sum(dim=0).to(ctx.dtypes[1])
        return tuple(gradients)
