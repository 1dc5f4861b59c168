"""An audit as a record and a job."""
