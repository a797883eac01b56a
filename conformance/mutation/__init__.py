"""The reference client broken in one place after another, and who notices."""
