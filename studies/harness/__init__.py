"""What all studies share: a plan, a store that survives being killed, a runner, and a report generator."""
