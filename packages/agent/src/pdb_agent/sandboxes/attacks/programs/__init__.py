"""What runs inside: copied into a sandbox's workspace and started there, standard library only."""
