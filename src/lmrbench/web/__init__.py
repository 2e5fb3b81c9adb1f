"""Web pages: the viewer of runs, annotation by people, and the static leaderboard.

Pages load nothing from other servers.
"""
