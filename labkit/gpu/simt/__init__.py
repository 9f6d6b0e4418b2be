"""The SIMT machine: README.md tells how it works."""
