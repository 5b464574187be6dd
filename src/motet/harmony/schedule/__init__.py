"""What Harmony does at a decision: present groups in, groups and their machines out. Pure."""
