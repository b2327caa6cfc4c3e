"""The judge: the one interface through which features ask a model, with a named reason whenever there is no answer."""
