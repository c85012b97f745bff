"""What a site tells, and what it can be asked: by its own rules, whatever the server says."""
