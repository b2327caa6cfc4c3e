"""The ground floor: knows no feature of the plugin."""
