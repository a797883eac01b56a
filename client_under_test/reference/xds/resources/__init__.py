"""What is read from resources, and what makes one a bad one."""
