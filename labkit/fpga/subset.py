"""Subset."""
