"""What asks models: questions, vendors, addresses and keys, prices and caps, and the calls; features use `asking`."""
