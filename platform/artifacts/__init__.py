"""Code archives, logs, outputs and the checkpoint index; local folder or S3."""
