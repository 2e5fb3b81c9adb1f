"""Human annotation in the browser: queues of items, stored labels, results, and the pages."""
