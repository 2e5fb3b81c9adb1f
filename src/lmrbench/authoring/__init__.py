"""What a task's author needs: mutants, audits, certificates."""
