"""The clients that come with the suite, a folder for each."""
