"""Syntactic anonymization: releases in which nobody is alone, by k-anonymity and its kin. None of it composes across releases; DP does."""
