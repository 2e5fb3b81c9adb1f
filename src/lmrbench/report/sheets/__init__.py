"""The tables that single commands print; `report/tables.py` has those of a report."""
