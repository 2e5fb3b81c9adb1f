"""The tables and lines that single commands print. The tables of a report are in `report/measures`."""
