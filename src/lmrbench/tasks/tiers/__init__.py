"""Tasks of the tiers other than `function`: whole methods, twins and forensic tasks."""
