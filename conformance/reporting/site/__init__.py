"""A static site of reports: the matrix, a page for each clause and each failure.

What it says is computed first (``model``), from reports alone; ``writing`` puts it into files,
beside the pictures of evidence that is still there.
"""
