"""A scriptable fake xDS control plane: ADS and LRS over gRPC, with a transcript of all that happened."""
