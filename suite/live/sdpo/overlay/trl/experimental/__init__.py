"""Experimental trainers, a folder for each method."""
