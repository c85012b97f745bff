"""What `flwr run .` sends to a SuperLink: two names. The game is in the flgames that every node has installed."""
