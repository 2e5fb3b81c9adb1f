"""What all kinds of encoders have in common."""
