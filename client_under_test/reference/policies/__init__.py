"""Load balancing policies as state machines without I/O, and the rules that they follow.

Where to read what:

- interface.py: the inputs of policies, and their actions.
- rules/: plain functions. ring.py is the ring of A42, ring_states.py the states of ring_hash and
  its proactive attempts, ring_picks.py what becomes of a request; failover.py: which priority is in
  use; gatekeeping.py: drops, circuit breaking and what load counts for; ring_config.py,
  shuffling.py, switching.py, turns.py: small ones. Each file ends with the class that declares its
  rules, so that each of them can be replaced.
- pick_first.py, round_robin.py, weighted_target.py, ring_hash.py, priority.py, cluster_impl.py,
  cluster_manager.py, graceful_switch.py: the state machines, which call the rules. family.py: what
  parents share.
- configs.py, registry.py: configs, their JSON form, and the policy for each. ledger.py: counts.

Any rule is found by searching for the id of its clause.
"""
