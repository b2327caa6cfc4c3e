"""The judge: one way for every feature to ask a model, and a named reason whenever there is no answer."""
