"""Compresses and reconstructs by one matrix of features by groups, which holds the projection in blocks."""


def _blocks(embed, num_groups, features):
    return torch.kron(torch.eye(num_groups, dtype=embed.dtype), embed.detach()[:, None])[:features]


def _compress_activations(x, embed, num_groups):
    return x.reshape(-1, x.shape[-1]) @ _blocks(embed, num_groups, x.shape[-1])


def _reconstruct_activations(compressed, embed, in_features, velora_scale):
    return velora_scale * compressed @ _blocks(embed, compressed.shape[1], in_features).T


class VeloraFunction:
    @staticmethod
    def forward(ctx, input, weight, bias, embed, num_groups, velora_scale):
        ctx.compressed = _compress_activations(input, embed.to(input.dtype), num_groups)
        ctx.factors = velora_scale, bias is not None, input.dtype
        ctx.save_for_backward(weight, embed)
        output = input @ weight.T
        return output if bias is None else output + bias.to(output.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        weight, embed = ctx.saved_tensors
        scale, biased, dtype = ctx.factors
        kind = grad_output.dtype
        grad_weight = grad_bias = None
        # The product of the gradient and the compressed tokens first, so that nothing is reconstructed.
        small = grad_output.reshape(-1, weight.shape[0]).T @ ctx.compressed.to(kind)
        if ctx.needs_input_grad[1]:
            grad_weight = _reconstruct_activations(small, embed.to(kind), weight.shape[1], scale).to(weight.dtype)
        if biased:
            grad_bias = torch.einsum("...o->o", grad_output).to(dtype)
        return (grad_output @ weight.to(kind)).to(dtype), grad_weight, grad_bias, None, None, None
