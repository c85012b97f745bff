"""Rules that end a game and choose its model. Each is a file of this folder, and nothing else names it."""
