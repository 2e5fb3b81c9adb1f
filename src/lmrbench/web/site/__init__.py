"""A leaderboard as static files, which any web server can serve and a browser can open from disk."""
