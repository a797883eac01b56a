"""Load balancing policies as state machines without I/O, and the rules that they follow.

Where to read what:

- interface.py: what policies are told, and what they ask for.
- ring.py, weights.py: the ring of A42. ring_states.py: the states of ring_hash and its unasked
  attempts. ring_picks.py: what becomes of a request. failover.py: which priority is in use.
  gatekeeping.py: drops, circuit breaking and what load counts for. aggregates.py: from clusters to
  a tree of policies. ring_config.py, shuffling.py, backoff.py: small ones. All of these are plain
  functions; `editions.Rules` names them, so that each can be replaced.
- pick_first.py, round_robin.py, weighted_target.py, ring_hash.py, priority.py, cluster_impl.py,
  cluster_manager.py: the state machines, which call the rules. family.py: what parents share.
- configs.py, registry.py: configs, their JSON form, and the policy for each. ledger.py: counts.

Any rule is found by searching this package for the id of its clause.
"""
