"""What all workflow formats share."""
