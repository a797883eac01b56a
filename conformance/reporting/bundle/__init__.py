"""One failure as a bug report, for readers who have never heard of this project."""
