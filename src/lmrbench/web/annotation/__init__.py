"""Annotation in the browser, where people label answers: queues of items, stored labels, results and pages."""
