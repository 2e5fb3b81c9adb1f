"""Reports on runs: measures, statistics, figures, and their rendering."""
