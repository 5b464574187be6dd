"""The HTTP interface of the live cluster: REST under `/api/v1`."""
