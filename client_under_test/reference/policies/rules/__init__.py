"""What the policies go by: plain functions, each of which somebody may want to see broken."""
