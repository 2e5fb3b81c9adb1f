"""Models that solve or judge: opening, settings, reachability, and how answers end."""
