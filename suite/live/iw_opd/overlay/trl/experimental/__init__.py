"""Stand-ins for what the trainer of IW-OPD imports."""
