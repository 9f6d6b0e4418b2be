"""The sections of the report: each module's `work(bench, earlier)` yields names and what to do."""
