"""Single message transforms and predicates: one module each, and the chain that runs them."""
