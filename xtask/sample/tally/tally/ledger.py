"""What everybody paid, and how to settle it."""

from tally import split


def balances(paid):
    """How much each person has to get (positive) or to give (negative)."""
    shares = split.evenly(sum(paid.values()), list(paid))
    return {person: paid[person] - shares[person] for person in paid}


def settle(paid):
    """Payments (who, to whom, cents) after which nobody owes anything."""
    open_balances = balances(paid)
    givers = sorted((p for p in open_balances if open_balances[p] < 0), key=open_balances.get)
    takers = sorted((p for p in open_balances if open_balances[p] > 0), key=open_balances.get, reverse=True)
    payments = []
    for giver in givers:
        for taker in takers:
            cents = min(-open_balances[giver], open_balances[taker])
            if cents > 0:
                payments.append((giver, taker, cents))
                open_balances[giver] += cents
                open_balances[taker] -= cents
    return payments
