"""How a process of this client behaves: an edition of the texts, or a mutant of one."""
