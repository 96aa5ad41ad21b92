"""The budget of a command: how much it may build at most, kept in a small file under version control."""
