"""What is kept of a run: CSV files, and the versions and machine that made them."""
