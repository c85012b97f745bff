"""What a person sees of what was played: tables, figures, pages."""
