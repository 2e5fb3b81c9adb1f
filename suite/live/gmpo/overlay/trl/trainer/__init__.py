"""Stand-ins for the trainer that GMPO extends, and its helpers."""
