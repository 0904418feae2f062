"""Work that is asked for: what a job is, the list of jobs, and the hints that go over the queue."""
