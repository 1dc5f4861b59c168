"""An audit and a person's statements as a report: HTML, PDF, JSON, model card and data sheet."""
