"""What the losses of all kinds of encoders have in common."""
