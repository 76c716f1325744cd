import unittest

from tally import ledger


class Ledger(unittest.TestCase):
    def test_those_who_paid_less_give_to_those_who_paid_more(self):
        payments = ledger.settle({"ann": 3000, "bob": 0, "cat": 600})
        self.assertEqual(payments, [("bob", "ann", 1200), ("cat", "ann", 600)])

    def test_equal_payments_need_no_settling(self):
        self.assertEqual(ledger.settle({"ann": 500, "bob": 500}), [])
