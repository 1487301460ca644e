"""The data sets, one file each: facts, files, reader and citation. `_catalog.py` lists them."""
