"""Long work, and the people who wait for it: who is told how far it is, and how long the rest takes."""
