"""From Cluster and endpoint resources to the config of a cluster's policy, without I/O."""
