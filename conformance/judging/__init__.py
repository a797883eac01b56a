"""From what was seen to a verdict. Pure, but for the files of evidence."""
