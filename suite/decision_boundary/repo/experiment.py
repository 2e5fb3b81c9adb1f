"""How rough are the boundaries of in-context learners, what do more examples change, and what helps?"""

import json

from active import at_random, extend, label_by, most_uncertain
from attention import TokenAttention, Weights
from boundary import ask, draw_boundary
from config import Study
from evaluation import Task, measure, order_sensitivity, testing_tasks, training_tasks
from finetuning import CHOICES, finetune
from metrics import Log, accuracy, roughness
from models import LEARNERS, Classical, Model


def run(seed: int = 0, study: Study | None = None) -> dict[str, float]:
    """Means over tasks, by the name of what is measured."""
    study = study or Study()
    log = Log()
    model = TokenAttention(Weights(), seed)
    training = training_tasks(study, seed)
    tuned = {part: TokenAttention(finetune(model.weights, part, training, seed), seed) for part in CHOICES}
    most = study.context_sizes[-1]
    for task in testing_tasks(study, seed):
        for size in study.context_sizes:
            measure(log, f"attention, {task.name}, {size}", model, task, size, study)
        for part, other in tuned.items():
            measure(log, f"finetuned {part}, {task.name}, {most}", other, task, most, study)
        if task.name == "linear":
            for kind in LEARNERS:
                measure(log, f"{kind}, {task.name}, {most}", Classical(kind), task, most, study)
            log.add("order sensitivity", order_sensitivity(model, task, study.context_sizes[1], study))
            compare_sampling(log, model, task, study)
    return log.means()


def compare_sampling(log: Log, model: Model, task: Task, study: Study) -> None:
    """Uncertainty-aware sampling against random sampling, from the same first examples."""
    start, (asked, wanted) = task.divide(study.active_start, study.queries)
    label = label_by(task.points, task.labels)
    sizes = (study.grid, study.active_step, study.active_rounds)
    for name, choose in (("active", most_uncertain), ("random", at_random)):
        context = extend(model, start, label, choose, sizes, task.seed)
        log.add(f"{name} sampling: accuracy", accuracy(ask(model, context, asked), wanted))
        log.add(f"{name} sampling: roughness", roughness(draw_boundary(model, context, study.grid)))


if __name__ == "__main__":
    print(json.dumps(run()))
