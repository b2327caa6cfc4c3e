"""Settings: the plugin's defaults, then the user's own file, then what a project may change."""
