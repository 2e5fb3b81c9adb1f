"""The part of trl that SDPO's losses need. The package's own `__init__` imports every trainer."""
