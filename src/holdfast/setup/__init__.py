"""Installing: hooks in settings, the plugin's environment, doctor."""
