"""Attacks on releases, as tests of what is claimed: they can refute a claim, never prove one."""
