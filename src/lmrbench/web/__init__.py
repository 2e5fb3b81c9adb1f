"""Pages on which people look at runs. Made on this machine, with nothing from elsewhere."""
