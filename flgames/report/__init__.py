"""What a person sees: the live line, tables and figures."""
