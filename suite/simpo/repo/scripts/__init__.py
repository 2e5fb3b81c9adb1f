"""Training with SimPO."""
