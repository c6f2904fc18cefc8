"""Where to evaluate next: acquisition functions, the Lipschitz region and the search for their maximum."""
