"""A small part of TRL."""
