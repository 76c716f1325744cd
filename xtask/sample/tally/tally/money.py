"""Amounts of money as whole cents."""


def parse(text):
    """Reads '12', '12.5' or '12.50' as cents."""
    whole, _, fraction = text.strip().partition(".")
    if not whole.isdigit() or not (fraction or "0").isdigit() or len(fraction) > 2:
        raise ValueError(f"not an amount: {text!r}")
    return int(whole) * 100 + int(fraction.ljust(2, "0"))


def show(cents):
    """Writes cents as '12.50'."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"
