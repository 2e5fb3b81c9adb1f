"""Open the models that solve tasks or judge answers, check their settings, and classify how their answers ended."""
