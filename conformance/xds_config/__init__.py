"""What the control plane serves, as one noun: resources and the inputs of oracles."""
