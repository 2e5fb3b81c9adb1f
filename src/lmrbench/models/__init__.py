"""Access to the models that solve or judge, the settings of runs with models, and the endings of answers."""
