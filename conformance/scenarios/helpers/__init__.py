"""Build the configs, endpoint states, load and faults that several scenarios share."""
