"""memd: lends the idle memory of a machine in slabs, and takes them back when it is needed."""
