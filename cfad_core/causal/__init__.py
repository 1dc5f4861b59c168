"""Phase One: the causal graph, the structural equations, the counterfactuals."""
