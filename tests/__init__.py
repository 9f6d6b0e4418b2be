"""The tests. This file makes `tests` a package of ours: pynq installs one of the same name."""
