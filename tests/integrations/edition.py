"""A clone with the layout of the public edition: its 28 tasks in 23 papers, written for these tests.

Names of functions, addresses and titles are those of the papers. All code is ours, in the form in which research code
holds such functions: beside packages that are not installed, in classes with bases from elsewhere, with attributes of
trainers that are not there.
"""

import json
from pathlib import Path

# What an installed package would be; a mistake if anything imports it.
TOP = """import package_that_is_nowhere
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
"""
PREFERENCE = """
def preference_loss(policy_chosen_logps: torch.FloatTensor, policy_rejected_logps, reference_chosen_logps,
                    reference_rejected_logps, beta: float, label_smoothing: float = 0.0, ipo: bool = False,
                    reference_free: bool = False) -> package_that_is_nowhere.Losses:
    BODY

class BasicTrainer(package_that_is_nowhere.Trainer):
    pass
"""
PREFERENCE_BODY = """ratio = policy_chosen_logps - policy_rejected_logps
    if not reference_free:
        ratio = ratio - (reference_chosen_logps - reference_rejected_logps)
    smoothed = -(1 - label_smoothing) * F.logsigmoid(ratio * beta) - label_smoothing * F.logsigmoid(-ratio * beta)
    losses = (ratio - 0.5 / beta) ** 2 if ipo else smoothed
    gains = policy_chosen_logps - reference_chosen_logps, policy_rejected_logps - reference_rejected_logps
    return losses, beta * gains[0].detach(), beta * gains[1].detach()"""
TOKENS = """
def tdpo_loss(chosen_logps_margin: torch.FloatTensor, rejected_logps_margin, chosen_position_kl, rejected_position_kl,
              beta: float, alpha: float = 0.5, if_tdpo2: bool = True):
    BODY
"""
TOKENS_BODY = """gap = chosen_logps_margin - rejected_logps_margin
    if if_tdpo2:
        gap = gap - alpha * (rejected_position_kl - chosen_position_kl.detach())
    else:
        gap = gap - rejected_position_kl + chosen_position_kl
    rewards = beta * (chosen_logps_margin + chosen_position_kl), beta * (rejected_logps_margin + rejected_position_kl)
    return -F.logsigmoid(gap * beta), rewards[0].detach(), rewards[1].detach()"""
SIMPO = """
class SimPOTrainer(package_that_is_nowhere.Trainer):
    def __init__(self, model: package_that_is_nowhere.Model):
        super().__init__(model)

    def simpo_loss(self, policy_chosen_logps: torch.FloatTensor, policy_rejected_logps: torch.FloatTensor):
        BODY
"""
SIMPO_BODY = """margin = (policy_chosen_logps - policy_rejected_logps).to(self.accelerator.device)
        margin = margin - self.gamma_beta_ratio
        if self.loss_type == "sigmoid":
            kept, flipped = F.logsigmoid(margin * self.beta), F.logsigmoid(-margin * self.beta)
            losses = (self.label_smoothing - 1) * kept - self.label_smoothing * flipped
        elif self.loss_type == "hinge":
            losses = torch.relu(1 - margin * self.beta)
        else:
            raise ValueError(self.loss_type)
        return losses, self.beta * policy_chosen_logps, self.beta * policy_rejected_logps"""
SPIN = """
class SPINTrainer(package_that_is_nowhere.Trainer):
    def spin_loss(self, policy_real_logps, policy_generated_logps, opponent_real_logps, opponent_generated_logps,
                  reference_free: bool = False):
        BODY
"""
SPIN_BODY = """gap = policy_real_logps - policy_generated_logps
        gap = gap - (0 if reference_free else opponent_real_logps - opponent_generated_logps)
        if self.loss_type == "sigmoid":
            losses = -F.logsigmoid(gap * self.beta)
        elif self.loss_type == "hinge":
            losses = torch.relu(1 - gap * self.beta)
        else:
            raise ValueError(self.loss_type)
        real, generated = policy_real_logps - opponent_real_logps, policy_generated_logps - opponent_generated_logps
        return losses, self.beta * real.detach(), self.beta * generated.detach()"""
SIMCLR = """
class SimCLR(object):
    def __init__(self, *args, **kwargs):
        self.args = kwargs["args"]
        self.writer = package_that_is_nowhere.Writer()

    def info_nce_loss(self, features):
        BODY
"""
SIMCLR_BODY = """image = torch.cat([torch.arange(self.args.batch_size) for _ in range(self.args.n_views)])
        image = image.to(self.args.device)
        same = image[:, None] == image
        other = ~torch.eye(len(image), dtype=torch.bool)
        unit = F.normalize(features, dim=1)
        cosines = (unit @ unit.T)[other].view(len(image), -1)
        same = same[other].view(len(image), -1)
        logits = torch.cat([cosines[same].view(len(image), -1), cosines[~same].view(len(image), -1)], dim=1)
        return logits / self.args.temperature, torch.zeros(len(image), dtype=torch.long)"""
ERGO = """
class focal_loss(nn.Module):
    def __init__(self, alpha=0.25, gamma=2, num_classes=3, size_average=True):
        super(focal_loss, self).__init__()
        self.size_average, self.gamma = size_average, gamma
        self.weights = torch.tensor(alpha if isinstance(alpha, list) else [1 - alpha] + [alpha] * (num_classes - 1))

    def forward(self, preds, labels):
        BODY
"""
ERGO_BODY = """rows = preds.view(-1, preds.size(-1))
        log_p = F.log_softmax(rows, dim=1).gather(1, labels.view(-1, 1)).squeeze(1)
        losses = -self.weights.gather(0, labels.view(-1)) * (1 - log_p.exp()) ** self.gamma * log_p
        return losses.mean() if self.size_average else losses.sum()"""
ADALORA = """
from .layers import LoRALayer

class SVDLinear(nn.Linear, LoRALayer):
    def forward(self, x: torch.Tensor):
        BODY
"""
ADALORA_BODY = """weight = self.weight.T if self.fan_in_fan_out else self.weight
        result = F.linear(x, weight, bias=self.bias)
        if self.r > 0 and not self.merged:
            low_rank = self.lora_dropout(x) @ (self.lora_A * self.lora_E).T @ self.lora_B.T
            result = result + low_rank * self.scaling / (self.ranknum + 1e-5)
        return result"""
BERTSCORE = """
def greedy_cos_idf(ref_embedding, ref_masks, ref_idf, hyp_embedding, hyp_masks, hyp_idf, all_layers=False):
    BODY
"""
BERTSCORE_BODY = """ref_embedding.div_(ref_embedding.norm(dim=-1, keepdim=True))
    hyp_embedding.div_(hyp_embedding.norm(dim=-1, keepdim=True))
    similarity = hyp_embedding @ ref_embedding.transpose(1, 2)
    similarity = similarity * hyp_masks.unsqueeze(2).float() * ref_masks.unsqueeze(1).float()
    hyp_idf.div_(hyp_idf.sum(dim=1, keepdim=True))
    ref_idf.div_(ref_idf.sum(dim=1, keepdim=True))
    precision, recall = (similarity.amax(dim=2) * hyp_idf).sum(dim=1), (similarity.amax(dim=1) * ref_idf).sum(dim=1)
    return precision, recall, 2 * precision * recall / (precision + recall)"""
DELTA = """
GROUPS = [range(1, 6), range(6, 10), range(10, 13), range(13, 19)]

def get_delta(matrix, group_option):
    BODY

results = package_that_is_nowhere.results()
"""
DELTA_BODY = """inside, outside = [], []
    for row in range(1, len(matrix)):
        for column in range(1, len(matrix)):
            together = row == column
            if group_option == "ethnicity":
                together = any(row in group and column in group for group in GROUPS)
            (inside if together else outside).append(matrix[row, column])
    return np.mean(inside) - np.mean(outside)"""
SEARCH = """
class MCTS:
    def __init__(self, game, player, configs):
        self.game, self.player, self.configs = game, player, configs
        self.Ns, self.Nsa, self.Q, self.P, self.valid_moves = {}, {}, {}, {}, {}

    def _bonus(self, state, act):
        return self.configs.cpuct * self.P[state][act]

class OpenLoopMCTS(MCTS):
    def search(self, state: package_that_is_nowhere.Session):
        return package_that_is_nowhere.search(self)

    def find_best_action(self, hashable_state):
        BODY
"""
SEARCH_BODY = """best_action, best_uct = -1, -float("inf")
        visits = self.Ns[hashable_state] or 1e-8
        for act in self.valid_moves[hashable_state]:
            spread = math.sqrt(visits) / (1 + self.Nsa[hashable_state][act])
            uct = self.Q[hashable_state][act] + self._bonus(hashable_state, act) * spread
            if uct > best_uct:
                best_action, best_uct = act, uct
        return best_action"""
OBSERVED = {
    "dpo": ("preference_loss", PREFERENCE, PREFERENCE_BODY),
    "tdpo": ("tdpo_loss", TOKENS, TOKENS_BODY),
    "simpo": ("SimPOTrainer.simpo_loss", SIMPO, SIMPO_BODY),
    "spin": ("SPINTrainer.spin_loss", SPIN, SPIN_BODY),
    "simclr": ("SimCLR.info_nce_loss", SIMCLR, SIMCLR_BODY),
    "ergo": ("focal_loss.forward", ERGO, ERGO_BODY),
    "adalora": ("SVDLinear.forward", ADALORA, ADALORA_BODY),
    "bertscore": ("greedy_cos_idf", BERTSCORE, BERTSCORE_BODY),
    "empathy_gaps": ("get_delta", DELTA, DELTA_BODY),
    "gdpzero": ("OpenLoopMCTS.find_best_action", SEARCH, SEARCH_BODY),
}
# Answers in other words than the goldens', and what makes each of them wrong.
ANSWERS = {
    "dpo": (
        """
def preference_loss(pc, pr, rc, rr, beta, label_smoothing=0.0, ipo=False, reference_free=False):
    chosen, rejected = beta * (pc - rc), beta * (pr - rr)
    return F.softplus(rejected - chosen), chosen, rejected
""",
        "beta * (pr - rr)",
        "pr - rr",
    ),
    "tdpo": (
        """
def tdpo_loss(cm, rm, ckl, rkl, beta, alpha=0.5, if_tdpo2=True):
    z = beta * (cm - rm - alpha * (rkl - ckl.detach()))
    return F.softplus(-z), beta * (cm + ckl), beta * (rm + rkl)
""",
        "ckl.detach()",
        "ckl",
    ),
    "simpo": (
        """
def simpo_loss(self, chosen, rejected):
    z = self.beta * (chosen - rejected) - self.beta * self.gamma_beta_ratio
    return F.softplus(-z), self.beta * chosen, self.beta * rejected
""",
        "self.gamma_beta_ratio",
        "self.gamma_beta_ratio * 1.02",
    ),
    "spin": (
        """
def spin_loss(self, pr, pg, opr, og, reference_free=False):
    real, generated = self.beta * (pr - opr), self.beta * (pg - og)
    return F.softplus(generated - real), real, generated
""",
        "(pg - og)",
        "(pg + og)",
    ),
    "simclr": (
        """
def info_nce_loss(self, features):
    features = features / features.norm(dim=1, keepdim=True)
    cosines = features @ features.T / self.args.temperature
    count = len(features)
    rows = []
    for row in range(count):
        partner = (row + count // 2) % count
        others = [column for column in range(count) if column not in (row, partner)]
        rows.append(cosines[row, [partner, *reversed(others)]])
    return torch.stack(rows), torch.zeros(count, dtype=torch.long)
""",
        "count // 2",
        "1",
    ),
    "ergo": (
        """
def forward(self, preds, labels):
    p = preds.softmax(-1)[torch.arange(len(labels)), labels]
    return (-self.weights[labels] * (1 - p) ** self.gamma * p.log()).mean()
""",
        "(1 - p)",
        "p",
    ),
    "adalora": (
        """
def forward(self, x):
    base = super().forward(x)
    if not self.r:
        return base
    rows = self.lora_dropout(x) @ self.lora_A.T
    return base + (rows * self.lora_E.T) @ self.lora_B.T * (self.scaling / (self.ranknum + 1e-5))
""",
        "/ (self.ranknum + 1e-5)",
        "",
    ),
    "bertscore": (
        """
def greedy_cos_idf(re, rm, ri, he, hm, hi, all_layers=False):
    cosines = F.normalize(he, dim=-1) @ F.normalize(re, dim=-1).transpose(1, 2)
    cosines = cosines.masked_fill(~(hm.bool()[:, :, None] & rm.bool()[:, None]), -2.0)
    P, R = ((best * idf).sum(1) / idf.sum(1) for best, idf in ((cosines.amax(2), hi), (cosines.amax(1), ri)))
    return P, R, 2 / (1 / P + 1 / R)
""",
        "/ idf.sum(1)",
        "/ len(idf[0])",
    ),
    "empathy_gaps": (
        """
def get_delta(matrix, group_option):
    matrix = np.asarray(matrix)[1:, 1:]
    group = np.arange(len(matrix))
    if group_option == "ethnicity":
        group = np.repeat([0, 1, 2, 3], [5, 4, 3, 6])
    same = group[:, None] == group
    return matrix[same].mean() - matrix[~same].mean()
""",
        "[1:, 1:]",
        "[1:, 1:].T ** 2",
    ),
    "gdpzero": (
        """
def find_best_action(self, state):
    acts = list(self.valid_moves[state])
    root = max(self.Ns[state], 1e-8) ** 0.5
    scores = [self.Q[state][a] + self._bonus(state, a) * root / (1 + self.Nsa[state][a]) for a in acts]
    return acts[int(np.argmax(scores))]
""",
        "np.argmax",
        "np.argmin",
    ),
}
# The functions of the other tasks, by paper.
OTHERS = {
    "hit": ["HierarchyTransformerLoss.forward"],
    "dola": ["dola_greedy_decode_agent"],
    "concept_depth": ["probing"],
    "repe": ["get_rep_directions_agent"],
    "step_length": ["get_sentence"],
    "moverscore": ["word_mover_score"],
    "decision_boundary": ["generate_tasks"],
    "emoji_prompt": ["compute_mean_cosine_similarity"],
    "empathy_gaps": ["get_filtered_matrix"],
    "knowledge_source": [
        "perform_classification_by_relation_group",
        "remove_object_subject_overlap",
        "is_parametric_object_not_in_the_prompt",
        "return_entity_overlap_between_relation_groups",
        "generate_counter_parametric_knowledge_dataset",
    ],
    "massive_activations": ["run_exp1"],
    "nsa": ["nsa"],
    "cad": ["context_aware_sampling"],
    "syn_chain": ["spacy_result_to_conll"],
}
IN_TESTS = ("dola", "repe", "cad")
CATEGORIES = {"simpo": "loss function", "spin": "loss function", "syn_chain": "", "nsa": "Neural Architecture"}
CATEGORIES["step_length"] = "Prompt Engineering & Instruction Tuning"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 70\n"


def write_edition(root: Path, papers, slugs=(*OBSERVED, *OTHERS)) -> Path:
    """Write the clone. papers: by slug, `lmrbench.tasks.model.Paper`, for titles and addresses."""
    for number, slug in enumerate(dict.fromkeys(slugs), 1):
        _write_paper(root / f"{number:02}-{slug}", slug, papers[slug])
    return root


def _write_paper(folder, slug, paper):
    functions = [OBSERVED[slug]] if slug in OBSERVED else []
    functions += [_plain(qualname) for qualname in OTHERS.get(slug, ())]
    implementations, files = [], {}
    for number, (qualname, text, body) in enumerate(functions, 1):
        goal = f"unit_test/unit_test_{number}.py" if slug in IN_TESTS else f"src/part_{number}.py"
        function = qualname.rpartition(".")[2]
        files[f"code/{goal}"] = TOP + text.replace("BODY", "pass")
        files[f"golden_files/{function}_golden.py"] = TOP + text.replace("BODY", body)
        files[f"code/unit_test_{number}/unit_test_{number}.py"] = "expected = 'secret'\n"
        files[f"code/unit_test_{number}/{function}_output.pkl"] = POINTER
        files[f"code/unit_test_{number}/logs/unit_test.log"] = "secret"
        implementations.append(
            {
                "instruction": f"Implement {qualname}. You may ignore every parameter with a default.",
                "category": CATEGORIES.get(slug, "Interpretability"),
                "goal_file": goal,
                "goal_function": function,
                "class_name": qualname.rpartition(".")[0] or None,
                "golden_file": f"golden_files/{function}_golden.py",
                "retrieval_context": None,
                "unit_test_file": f"unit_test/unit_test_{number}.py",
            }
        )
    files["code/paper.json"] = json.dumps({"1": f"A page about {slug}.", "2": "Another page."})
    files["code/README.md"] = "Research code.\n"
    if slug in IN_TESTS:
        files["code/unit_test/unit_test_1.py"] = "from helper import start\n" + files["code/unit_test/unit_test_1.py"]
        files["code/unit_test/helper.py"] = "start = 1\n"
        files["code/unit_test/input.pkl"] = files["code/unit_test/output.json"] = POINTER
        files["code/unit_test/unit_test_2.py"] = "expected = 'secret'\n"
    if slug == "nsa":
        files = {}
    info = {
        "instance_id": folder.name,
        "paper_name": paper.title,
        "folder_name": folder.name,
        "paper_url": str(paper.url),
        "year": paper.year,
        "repo_url": str(paper.code),
        "repo_folder_name": "code",
        "implementations": implementations,
    }
    files["info.json"] = json.dumps(info)
    (folder / "code").mkdir(parents=True)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def _plain(qualname):
    """A function of no interest, in a class if it is a method."""
    owner, _, function = qualname.rpartition(".")
    text = f"\ndef {function}(values, strength=1.0):\n    BODY\n"
    if owner:
        text = f"\nclass {owner}:\n    def {function}(self, values, strength=1.0):\n        BODY\n"
    body = (
        f"scaled = [strength * value for value in values]; return '{function}', sorted(scaled)[:: len(scaled) // 2 + 1]"
    )
    return qualname, text, body


# How the edition spells the systems: in folders, and in the labels of people.
AGENTS = {"prompting": ("BaseAgent", "no_agent"), "openhands": ("OpenHands", "openhands_agent")}
MODELS = {"gpt-4.1": "gpt4.1", "gpt-4o": "gpt4o", "o4-mini": "o4mini", "claude-3.7": "claude3.7"}
SCALE = {"LI": 1, "LC": 2, "CC": 3}


def write_records(results: Path, rows, from_0=()):
    """Write the records of answers as the edition publishes them.

    rows: as in outcomes.csv. from_0: the annotators who count from 0.
    """
    tests: dict[tuple[str, str], list[str]] = {}
    labels: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        agent, person = AGENTS[row["setting"]]
        model, paper, function = MODELS[row["model"]], row["paper_index"], int(row["function_index"])
        if row["unit_test"]:
            verdict = "PASS" if row["unit_test"] == "pass" else "FAIL (found 2 failure lines)"
            line = f"{paper}-{row['paper']}/unit_test_{function + 1}.log: {verdict}\n"
            tests.setdefault((agent, model), []).append(line)
        if row["judge"]:
            name = f"{paper}-{row['paper']}_code_{function}_analysis.txt"
            file = results / "llm_as_a_judge_evaluation" / agent / model / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(judged(SCALE[row["judge"]], form=int(paper) % 3))
        if row["human"]:
            labels.setdefault(row["annotator"], []).append(
                {
                    "annotator": row["annotator"],
                    "agent_type": person,
                    "model_name": model,
                    "paper_index": int(paper),
                    "function_index": function,
                    "human_judge_result": SCALE[row["human"]] - (row["annotator"] in from_0),
                    "comment": f"a comment of {row['annotator']}",
                }
            )
    for (agent, model), lines in tests.items():
        file = results / "unit_test_evaluation" / agent / model / "results.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(lines) + f"\nTotal log files: {len(lines)}\nOverall pass rate: 42.86%\n")
    (results / "human_evaluation").mkdir(parents=True, exist_ok=True)
    for annotator, items in labels.items():
        (results / "human_evaluation" / f"{annotator}.json").write_text(json.dumps(items))


def judged(category, form=0):
    """The answer of the judge: bare JSON, JSON in a fence, or prose."""
    reasons = ["The base is right.", "A case is missing: {x}."]
    text = json.dumps({"category": str(category), "rationale": reasons}, indent=2)
    prose = f"They differ:\n```python\nreturn {{'x': 1}}\n```\n\n{category}"
    return (text, f"```json\n{text}\n```", prose)[form]
