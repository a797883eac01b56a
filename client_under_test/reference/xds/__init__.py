"""xDS as gRPC speaks it: resources and their validation, the ADS and LRS streams."""
