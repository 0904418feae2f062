"""Relations between symbols: pure, over what the chunks of a snapshot say."""
