"""Which versions exist and what each means as a filter: the head document and its rules."""
