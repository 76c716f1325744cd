"""Who paid, who owes whom."""
