"""What makes the dashboard a server for a team: who signs in, what is served beside the pages, and what guards it."""
