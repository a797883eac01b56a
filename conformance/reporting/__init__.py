"""Reports, from records alone, and the views of them."""
