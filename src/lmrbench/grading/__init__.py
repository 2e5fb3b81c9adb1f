"""The unit-test axis: observe golden and candidate in separate sandboxes, compare outside, write down verdicts."""
