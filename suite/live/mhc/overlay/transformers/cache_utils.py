"""Stand-ins: nothing is cached here."""


class Cache:
    """Not used here."""


class DynamicCache(Cache):
    """Not used here."""


class DynamicSlidingWindowLayer:
    """Not used here."""
