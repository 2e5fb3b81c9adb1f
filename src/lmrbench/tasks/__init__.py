"""What a task is: its records, how a suite is loaded, how a target is found, masked and transplanted."""
