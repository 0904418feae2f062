"""Jobs: what a job is, how its state changes, in what order jobs run, and the list of jobs in the catalog."""
