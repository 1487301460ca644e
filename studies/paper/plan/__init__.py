"""What is trained, and which table shows it."""
