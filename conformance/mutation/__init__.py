"""Run mutants of the reference client, and compute which scenarios kill them."""
