"""What the doctor looks at: small functions, each of which answers with one check."""
