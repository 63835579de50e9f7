"""Panels to look at data, runs and privacy in JupyterLab or as pages: they call what the studies call, and work without a person too."""
