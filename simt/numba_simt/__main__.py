"""`python -m numba_simt` is `numba-simt`."""

from numba_simt.command.main import main

if __name__ == "__main__":
    raise SystemExit(main())
