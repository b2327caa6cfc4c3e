"""The lowest layer: it imports no other part of the plugin."""
