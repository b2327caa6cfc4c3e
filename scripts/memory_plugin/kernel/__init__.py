"""The lowest layer, which imports no other part of the plugin."""
