"""Web pages: the viewer, human annotation, and the static leaderboard. Pages load nothing from other servers."""
