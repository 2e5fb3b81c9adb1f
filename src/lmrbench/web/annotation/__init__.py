"""Annotations, projects in which people label answers in the browser: queues, database, results and web pages."""
