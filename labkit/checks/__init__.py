"""The checks: `check`, `predict`, `hint`, `quiz`, and what an author writes for them."""
