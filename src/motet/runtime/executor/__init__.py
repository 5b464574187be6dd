"""The executor process: hosts a worker and a server of one job on one machine."""
