"""Client processes: how they start, talk and end."""
