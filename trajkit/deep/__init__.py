"""Deep generators on one 1-D UNet, and the trainer that makes their training differentially private."""
