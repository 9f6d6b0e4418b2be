"""Parameter servers: who holds the weights, and which worker waits for whom."""
