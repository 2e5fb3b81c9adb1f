"""Annotation, in which people label answers in the browser: queues of items, stored labels, results and pages."""
