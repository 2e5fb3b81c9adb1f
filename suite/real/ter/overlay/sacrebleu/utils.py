"""A stub: one of the published module's helpers."""


def sum_of_lists(lists):
    """The sums over lists of numbers, place by place."""
    return [sum(numbers) for numbers in zip(*lists, strict=True)]
