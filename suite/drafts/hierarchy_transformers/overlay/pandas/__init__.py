"""A stub: a table without rows."""


class DataFrame:
    def __init__(self, columns):
        self.columns = columns
