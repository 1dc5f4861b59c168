"""Measurements that are run by hand; see CONTRIBUTING.md."""
