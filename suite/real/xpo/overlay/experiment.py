"""Does a bonus for leaving the reference's texts help to find answers that the reference hardly ever gives?"""

import json

import torch
from toy import END, Table, ToyTrainer
from trl.trainer.xpo_config import XPOConfig

_TOKENS, _ROWS, _NEW, _STEPS = 10, 24, 3, 20
_RARE = 9


def _score(texts: torch.Tensor, context_length: int) -> torch.Tensor:
    """The share of the rare token in an answer, and a little for a common one."""
    answers = texts[:, context_length:]
    return (answers == _RARE).double().mean(1) + 0.1 * (answers == 2).double().mean(1)


def run(seed: int = 0) -> dict[str, float]:
    """Scores of new texts, and how probable the rare token is then, by the weight of the bonus and the kind of loss."""
    results = {}
    for loss_type, alphas in (("sigmoid", (0.0, 0.05, [0.1, 0.0])), ("ipo", (0.05,))):
        rate = 12.0 if loss_type == "sigmoid" else 0.6
        for alpha in alphas:
            generator = torch.Generator().manual_seed(seed)
            torch.manual_seed(seed)
            table = 0.5 * torch.randn(_TOKENS, _TOKENS, generator=generator, dtype=torch.float64)
            table[:, _RARE] -= 2.0
            table[:, END] -= 1.0
            args = XPOConfig(alpha=alpha, beta=0.5, loss_type=loss_type)
            trainer = ToyTrainer(Table(table), _score, args, _NEW)
            for step in range(_STEPS):
                trainer.state.epoch = step // (_STEPS // 2)
                logged = trainer.step(torch.randint(2, 6, (_ROWS, 2), generator=generator), rate)
            prompts = torch.randint(2, 6, (200, 2), generator=generator)
            texts = trainer.model.generate(prompts, None, trainer.generation_config)
            name = f"{loss_type}/alpha {alpha}"
            results[f"{name}/score"] = _score(texts, 2).mean().item()
            # How probable the model still finds what its reference says.
            said = trainer.ref_model.generate(prompts, None, trainer.generation_config)
            logs = trainer.model(said, None).logits.detach().log_softmax(-1)[:, 1:-1]
            results[f"{name}/log-probability of the reference's tokens"] = (
                logs.gather(2, said[:, 2:, None]).mean().item()
            )
            rare = trainer.model.table.detach().log_softmax(-1)[2:6, _RARE].mean()
            results[f"{name}/log-probability of the rare token"] = rare.item()
            results |= {f"{name}/last {kind}": value for kind, value in logged.items()}
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
