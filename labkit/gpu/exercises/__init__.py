"""The exercises whose answer is a kernel, one module each; `labkit.checks.registry` reads them."""
