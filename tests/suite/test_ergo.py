"""ergo: the golden against values by hand, another library function, and what the paper says of it."""

import math

import pytest
from tests.suite.repository import facts_of

FACTS = """
import json, torch
import torch.nn.functional as F
from data import CAUSED_BY, CAUSES, NO_RELATION, collate, make_documents
from experiment import run
from graph import criss_cross
from model import ErgoConfig, build_model, focal_loss

facts = {}
# Rows of probabilities, for their logarithms are scores of them; the fourth pair is padding.
chances = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.25, 0.25, 0.5], [0.8, 0.1, 0.1]], dtype=torch.float64)
labels = torch.tensor([0, 1, 1, -100])
settings = {"factor": (0.75, 2.0), "weights": ((0.4, 1.5, 0.9), 1.0), "cubed": (0.65, 3.0)}
for name, (alpha, gamma) in settings.items():
    for average in (True, False):
        loss = focal_loss(alpha, gamma, 3, average)(chances.log(), labels)
        facts[f"{name}, {'mean' if average else 'sum'}"] = loss.item()

generator = torch.Generator().manual_seed(4)
scores = torch.randn(3, 7, 3, generator=generator, dtype=torch.float64)
classes = torch.randint(0, 3, (3, 7), generator=generator)
flat, given = scores.flatten(0, 1), classes.flatten()
weights = (0.4, 1.5, 0.9)
expected = F.cross_entropy(flat, given, torch.tensor(weights, dtype=torch.float64), reduction="sum").item()
facts["cross_entropy"] = [focal_loss(weights, 0.0, 3, False)(scores, classes).item(), expected]
loss_function = focal_loss(0.7, 2.0, 3, False)
facts["gradients_agree"] = torch.autograd.gradcheck(lambda x: loss_function(x, classes), scores.requires_grad_())

# Two classes: the focal loss of a single score under a sigmoid.
margin, binary = scores[..., :2].detach().diff(dim=-1).squeeze(-1), classes.clamp(max=1)
p = torch.where(binary == 1, torch.sigmoid(margin), torch.sigmoid(-margin))
expected = (torch.where(binary == 1, 0.7, 0.3).double() * (1 - p) ** 2 * -p.log()).mean().item()
facts["sigmoid"] = [focal_loss(0.7, 2.0, 2)(scores[..., :2].detach(), binary).item(), expected]

curve = torch.tensor([0.99, 0.9, 0.01], dtype=torch.float64)
pairs = torch.stack((1 - curve, curve), dim=-1).log()
facts["curves"] = [
    [focal_loss((1.0, 1.0), gamma, 2)(pair[None], torch.tensor([1])).item() for pair in pairs]
    for gamma in (0.0, 1.0, 2.0, 3.0)
]
facts["padding_only"] = focal_loss()(scores, torch.full((3, 7), -100)).item()

documents = make_documents(200, generator)
batch = collate(documents[:6])
model = build_model(ErgoConfig(), 0)
alone = collate(documents[:1])
nodes = alone.pairs.shape[1]
facts["padding_changes"] = (model(batch)[0, :nodes] - model(alone)[0]).abs().max().item()
facts["joined"] = criss_cross(torch.tensor([[[0, 1], [1, 2], [2, 3]]])).int().tolist()
related = [relation for document in documents for relation in document.relations.values()]
facts["positives"] = sum(relation != NO_RELATION for relation in related) / len(related)
facts["intransitive"] = sum(
    document.relations[first, second] == document.relations[second, third] != NO_RELATION
    and document.relations[first, third] != document.relations[first, second]
    for document in documents
    for first, second in document.relations
    for third in range(second + 1, len(document.markers))
)
facts["experiments"] = [run(seed) for seed in range(4)]
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("ergo", FACTS)


def test_losses_by_hand(facts):
    # The probabilities of the true classes are 0.5 (negative), 0.6 and 0.25 (positive); the fourth pair doesn't count.
    log = math.log
    expected = {
        "factor": -(0.25 * 0.25 * log(0.5) + 0.75 * 0.16 * log(0.6) + 0.75 * 0.5625 * log(0.25)),
        "weights": -(0.4 * 0.5 * log(0.5) + 1.5 * 0.4 * log(0.6) + 1.5 * 0.75 * log(0.25)),
        "cubed": -(0.35 * 0.125 * log(0.5) + 0.65 * 0.064 * log(0.6) + 0.65 * 0.421875 * log(0.25)),
    }
    for name, total in expected.items():
        assert facts[f"{name}, sum"] == pytest.approx(total)
        assert facts[f"{name}, mean"] == pytest.approx(total / 3)


def test_without_focusing_it_is_the_librarys_weighted_cross_entropy(facts):
    assert facts["cross_entropy"][0] == pytest.approx(facts["cross_entropy"][1])


def test_of_two_classes_it_is_the_binary_focal_loss(facts):
    assert facts["sigmoid"][0] == pytest.approx(facts["sigmoid"][1])


def test_gradients_agree_with_finite_differences(facts):
    assert facts["gradients_agree"]


def test_focusing_lowers_the_loss_of_easy_pairs_and_leaves_that_of_hard_ones(facts):
    # Section 3.3: the factor is near 1 for a misclassified pair, and vanishes for a certain one.
    plain = facts["curves"][0]
    for gamma, curve in enumerate(facts["curves"]):
        assert curve == pytest.approx(
            [loss * (1 - p) ** gamma for loss, p in zip(plain, (0.99, 0.9, 0.01), strict=True)]
        )
    assert facts["curves"][3][2] > 0.97 * plain[2]


def test_padding_alone_costs_nothing(facts):
    assert facts["padding_only"] == 0


def test_a_document_is_classified_alike_alone_and_in_a_batch(facts):
    assert facts["padding_changes"] < 1e-5


def test_pairs_are_joined_by_a_common_event(facts):
    assert facts["joined"] == [[[1, 1, 0], [1, 1, 1], [0, 1, 1]]]


def test_documents_are_imbalanced_and_transitive(facts):
    assert 0.1 < facts["positives"] < 0.25
    assert facts["intransitive"] == 0


def test_the_focal_loss_finds_more_causes_and_listens_less_to_negatives(facts):
    for stages in facts["experiments"]:
        results = stages["evaluation"]
        assert results["focal/recall"] > 1.2 * results["cross_entropy/recall"]
        assert results["focal/positives/logp"] > results["cross_entropy/positives/logp"] + 0.5
        assert 5 * results["focal/negatives"] < results["weighted/negatives"] < 0.6 * results["cross_entropy/negatives"]


def test_training_with_either_loss_moves_every_part_of_the_model(facts):
    for stages in facts["experiments"]:
        before, after = stages["losses"], stages["training"]
        assert after["cross_entropy/loss"] < 0.95 * before["cross_entropy/loss"]
        assert after["focal/loss"] < before["focal/loss"]
        for name in ("cross_entropy", "focal"):
            assert all(after[f"{name}/{part}/moved"] > 0.05 for part in ("encoder", "layers", "classifier"))


def test_the_weights_of_the_losses_act_on_the_gradients_of_their_classes(facts):
    for stages in facts["experiments"]:
        losses = stages["losses"]
        shares = {
            name: losses[f"{name}/gradient of positives"] / losses[f"{name}/gradient of negatives"]
            for name in ("cross_entropy", "weighted")
        }
        # 0.75 for positives and 0.25 for negatives.
        assert shares["weighted"] == pytest.approx(3 * shares["cross_entropy"], rel=1e-4)
