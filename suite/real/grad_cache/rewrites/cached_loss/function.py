"""A function of autograd whose backward pass embeds anew; the loss over split anchors."""

import functools
import operator


class _Cached(torch.autograd.Function):
    @staticmethod
    def forward(ctx, handle, number, columns, loss_obj):
        ctx.columns, ctx.loss_obj = columns, loss_obj
        return number.clone()

    @staticmethod
    def backward(ctx, gradient):
        _backward_hook(gradient, ctx.columns, ctx.loss_obj)
        return torch.zeros(()), None, None, None


def _backward_hook(grad_output, sentence_features, loss_obj):
    cache, states = loss_obj.cache, loss_obj.random_states
    assert cache is not None
    assert states is not None
    size = loss_obj.mini_batch_size
    for place, column in enumerate(sentence_features):
        for number, gradient in enumerate(cache[place]):
            with torch.enable_grad():
                rep, _ = loss_obj.embed_minibatch(
                    column, number * size, (number + 1) * size, True, False, random_state=states[place][number]
                )
                (rep * gradient).sum().backward(grad_output.to(rep.dtype))


class CachedMultipleNegativesRankingLoss:
    def calculate_loss_and_cache_gradients(self, reps):
        copies = [[rep.detach().clone().requires_grad_() for rep in column] for column in reps]
        with torch.enable_grad():
            anchors = torch.cat(copies[0])
            targets = torch.cat([torch.cat(column) for column in copies[1:]])
            # Embeddings of the batch are leaves of a second, smaller graph.
            anchors, targets = anchors.detach().requires_grad_(), targets.detach().requires_grad_()
            numbers = []
            for start, part in zip(range(0, len(anchors), self.mini_batch_size), anchors.split(self.mini_batch_size)):
                scores = self.scale * self.similarity_fct(part, targets)
                wanted = torch.arange(start, start + len(part))
                loss = nn.functional.cross_entropy(scores, wanted, reduction="sum") / len(anchors)
                loss.backward()
                numbers.append(loss.detach())
        both = [anchors.grad if anchors.grad is not None else torch.zeros_like(anchors)]
        grad = targets.grad if targets.grad is not None else torch.zeros_like(targets)
        both += grad.split([sum(map(len, column)) for column in reps[1:]])
        self.cache = [
            [item.clone() for item in grad.split([len(rep) for rep in column])] for grad, column in zip(both, reps)
        ]
        return torch.stack(numbers).sum().requires_grad_()

    def calculate_loss(self, reps):
        anchors, targets = torch.cat(reps[0]), torch.cat(functools.reduce(operator.iadd, reps[1:], []))
        means = []
        for part, wanted in zip(
            anchors.split(self.mini_batch_size), torch.arange(len(anchors)).split(self.mini_batch_size)
        ):
            means.append(self.cross_entropy_loss(self.scale * self.similarity_fct(part, targets), wanted) * len(part))
        return torch.stack(means).sum() / len(anchors)

    def forward(self, sentence_features, labels):
        reps, states = [], []
        for column in sentence_features:
            reps.append([])
            states.append([])
            for rep, state in self.embed_minibatch_iter(column, False, True):
                reps[-1].append(rep.detach().requires_grad_())
                states[-1].append(state)
        self.random_states = states
        if torch.is_grad_enabled():
            number = self.calculate_loss_and_cache_gradients(reps).detach()
            return _Cached.apply(torch.zeros((), requires_grad=True), number, list(sentence_features), self)
        return self.calculate_loss(reps).detach()
