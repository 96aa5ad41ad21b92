"""A small particle fountain whose step is a list of exchangeable stages."""
