"""What a task is: its records, how a suite is loaded, what a solver sees, and what of an answer is taken."""
