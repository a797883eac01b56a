"""The reference client: A37, A42 and A52, with their amendments, as readable Python."""
