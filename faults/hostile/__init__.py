"""A server and a site that want to do harm, over real federations."""
