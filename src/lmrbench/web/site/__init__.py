"""A leaderboard as static files, for any web server or none."""
