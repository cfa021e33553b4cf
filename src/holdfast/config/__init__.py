"""Settings, the project's root, the user's folders, what an agent can take."""
