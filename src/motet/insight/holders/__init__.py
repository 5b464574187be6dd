"""The jobs that held GPUs while another one waited."""
