"""Where to evaluate next: acquisition functions, regions, and the search for a maximum."""
