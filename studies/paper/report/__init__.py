"""From the CSV files to `docs/results.md`: numbers, claims, tables and figures."""
