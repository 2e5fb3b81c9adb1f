"""Matrix products and flattened shapes; gradients are computed whether asked for or not."""


def _compress_activations(x, embed, num_groups):
    return _reshape_to_grouped_subtokens(x, num_groups) @ embed


def _reconstruct_activations(compressed, embed, in_features, velora_scale):
    return velora_scale * torch.outer(compressed.flatten(), embed).view(len(compressed), -1)[:, :in_features]


class VeloraFunction:
    @staticmethod
    def forward(ctx, input, weight, bias, embed, num_groups, velora_scale):
        ctx.save_for_backward(_compress_activations(input, embed.to(input.dtype), num_groups), weight, embed)
        ctx.features, ctx.scale = input.shape[-1], velora_scale
        return F.linear(input, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        compressed, weight, embed = ctx.saved_tensors
        rows = grad_output.flatten(0, -2)
        rebuilt = _reconstruct_activations(compressed, embed, ctx.features, ctx.scale)
        grad_bias = rows.sum(0) if ctx.needs_input_grad[2] else None
        return grad_output @ weight, rows.T @ rebuilt, grad_bias, None, None, None
