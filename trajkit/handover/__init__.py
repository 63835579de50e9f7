"""From "here is our data" to a folder that can leave the house: assessment, record of risks, release with a budget ledger."""
