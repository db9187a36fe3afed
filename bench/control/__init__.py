"""The control plane under load: simulated agents, the real database, the real supervisor, API and stream."""
