"""Pages of HTML: templates in which everything is escaped, and what they share.

A page needs nothing from elsewhere: no script but the one that filters the matrix, no network.
"""
