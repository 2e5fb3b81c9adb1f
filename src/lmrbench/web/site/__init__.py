"""A leaderboard as files that any web server shows, and any browser without one."""
