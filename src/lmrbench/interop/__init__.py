"""Other people's formats: what comes in as submissions, and what goes out as tasks.

Predictions of SWE-bench's form are read; tasks are written as rows of a dataset, and as folders that Harbor runs.
"""
