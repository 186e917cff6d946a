"""Looking at dead letters, sending them again, giving them up."""
