"""Load and faults on a real server: what it does under twenty browsers, kills, full disks and hostile files."""
