"""The only part that knows Streamlit: page frame, services, widgets that several pages share."""
