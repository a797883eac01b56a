"""What several scenarios arrange before they look: endpoint states, priorities, load, faults."""
