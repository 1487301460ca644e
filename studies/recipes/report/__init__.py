"""The page: tables and a figure, from the CSV files alone."""
