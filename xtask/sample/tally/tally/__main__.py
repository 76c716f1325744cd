"""Settles what is given as name=amount."""

import sys

from tally import ledger, money


def main(arguments):
    paid = {}
    for argument in arguments:
        name, _, amount = argument.partition("=")
        paid[name] = paid.get(name, 0) + money.parse(amount)
    for giver, taker, cents in ledger.settle(paid):
        print(f"{giver} pays {taker} {money.show(cents)}")


if __name__ == "__main__":
    main(sys.argv[1:])
