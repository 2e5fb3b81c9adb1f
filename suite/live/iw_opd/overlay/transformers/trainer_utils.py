"""Stand-ins for names of the training loop."""


class EvalPrediction:
    """Not used here."""


def seed_worker(worker_id):
    """Not needed here."""
