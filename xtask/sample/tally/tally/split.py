"""Dividing an amount among people."""


def evenly(total, people):
    """Each person's share of `total` cents."""
    if not people:
        raise ValueError("nobody to share with")
    share = total // len(people)
    return {person: share for person in people}
