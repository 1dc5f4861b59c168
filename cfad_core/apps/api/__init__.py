"""The REST API: what people do with audits, for programs. It asks the same store and the same jobs as the pages."""
