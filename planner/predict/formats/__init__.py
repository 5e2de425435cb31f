"""Output files of benchmark tools → observations; one small importer per format, told apart by content."""
