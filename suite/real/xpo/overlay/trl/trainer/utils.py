"""A stand-in: names that the trainer imports."""


def empty_cache():
    """There is no cache to be emptied on a CPU."""


def get_reward(model, texts, pad_token_id, context_length):
    """The model's scores of texts, between two things that nobody reads here."""
    return None, model(texts, context_length), None


def truncate_right(input_ids, stop_token_id, pad_token_id):
    """Padding takes the place of all that is after the first stop token; returns that, and a mask that is 0 there."""
    stopped = (input_ids == stop_token_id).long().cumsum(1)
    after = (stopped - (input_ids == stop_token_id).long()) > 0
    return input_ids.masked_fill(after, pad_token_id), (~after).to(input_ids.dtype)
