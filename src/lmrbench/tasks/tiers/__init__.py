"""The tiers above single functions: whole methods, twins, and forensic tasks."""
