"""Studies of quality: what each loss is good for, measured. See README.md beside this file."""
