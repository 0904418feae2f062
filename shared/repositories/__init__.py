"""Names of repositories, rules for their origins, and the versions that are followed."""
