"""Single points: names as people write them → a configuration → times and rates, one or a table of them."""
