"""What commands have in common: options, errors, signals, bars and the live line."""
