"""Commands of `manage.py`, and the pages that are made from the code."""
