"""DeepSeek-V4: its modules, and a stand-in for its configuration."""
