"""Every mutant, in a file named as the rows of its clause are."""
