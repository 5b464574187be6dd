"""Working folders of jobs: their snapshots, with the files as they were at the submission.

Clients choose the files and write them as an archive, whose SHA-256 names the snapshot. The server
keeps each archive once; every job gets a copy of its files, in which all of its attempts run.
"""
