"""Self-distillation policy optimization: its losses. The package's own `__init__` imports the trainer."""
