"""New values of parameters that arrive while the program goes on."""
