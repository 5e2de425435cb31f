"""Other planners' problem files, read into workload files that say the same."""
