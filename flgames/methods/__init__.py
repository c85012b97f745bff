"""Methods: one file each, one contract for all. FL Games, which is more than a file, has a folder."""
