"""Parameter-efficient fine-tuning with increments whose ranks adapt to a budget."""
