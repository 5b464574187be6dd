"""File formats, a folder for each family, and the choice of the one that a file has."""
