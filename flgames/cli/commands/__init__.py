"""One file a command. What a command needs is loaded when it runs, so that --help and --version take no time."""
