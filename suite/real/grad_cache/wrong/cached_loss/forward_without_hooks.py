"""In the backward pass the model's forward is called directly, so that its hooks don't run a second time."""

from functools import partial

import torch
import torch.nn.functional as F


def _again(loss_obj, features, states):
    size = loss_obj.mini_batch_size
    for place, state in enumerate(states):
        part = {name: item[place * size : (place + 1) * size] for name, item in features.items()}
        with state:
            reps = loss_obj.model.forward(part)["sentence_embedding"]
        yield reps, None


def _backward_hook(grad_output, sentence_features, loss_obj):
    assert loss_obj.cache is not None
    assert loss_obj.random_states is not None
    with torch.enable_grad():
        for features, grads, states in zip(sentence_features, loss_obj.cache, loss_obj.random_states):
            embedded = _again(loss_obj, features, states)
            for (reps, _), grad in zip(embedded, grads):
                surrogate = torch.dot(reps.flatten(), grad.flatten()) * grad_output
                surrogate.backward()


class CachedMultipleNegativesRankingLoss:
    def calculate_loss_and_cache_gradients(self, reps):
        with torch.enable_grad():
            loss = self.calculate_loss(reps)
            flat = [item for column in reps for item in column]
            grads = iter(torch.autograd.grad(loss, flat, allow_unused=True))
        self.cache = []
        for column in reps:
            found = [next(grads) for _ in column]
            self.cache.append([torch.zeros_like(a) if g is None else g for a, g in zip(column, found)])
        return loss.detach().requires_grad_()

    def calculate_loss(self, reps):
        anchors = torch.cat(reps[0])
        candidates = torch.cat([item for column in reps[1:] for item in column])
        labels = torch.arange(len(anchors), device=anchors.device)
        size = self.mini_batch_size
        loss = 0.0
        for start in range(0, len(anchors), size):
            scores = self.similarity_fct(anchors[start : start + size], candidates) * self.scale
            part = F.cross_entropy(scores, labels[start : start + size], reduction="sum")
            loss = loss + part / len(anchors)
        return loss

    def forward(self, sentence_features, labels):
        reps, states = [], []
        for features in sentence_features:
            pairs = list(self.embed_minibatch_iter(features, with_grad=False, copy_random_state=True))
            reps.append([item.detach().requires_grad_() for item, _ in pairs])
            states.append([state for _, state in pairs])
        self.random_states = states
        if not torch.is_grad_enabled():
            return self.calculate_loss(reps)
        loss = self.calculate_loss_and_cache_gradients(reps)
        loss.register_hook(partial(_backward_hook, sentence_features=sentence_features, loss_obj=self))
        return loss
