"""Thin callbacks for frameworks that own the training loop. Each imports its framework when it is used, and not before."""
