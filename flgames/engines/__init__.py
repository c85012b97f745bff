"""The same messages across processes and machines. Every engine is a package of this folder."""
