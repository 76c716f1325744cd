import unittest

from tally import split


class Split(unittest.TestCase):
    def test_an_even_amount_is_divided_evenly(self):
        self.assertEqual(split.evenly(900, ["ann", "bob", "cat"]), {"ann": 300, "bob": 300, "cat": 300})

    def test_nobody_cannot_share(self):
        with self.assertRaises(ValueError):
            split.evenly(900, [])

    def test_no_cent_is_lost(self):
        shares = split.evenly(1000, ["ann", "bob", "cat"])
        self.assertEqual(sum(shares.values()), 1000)
        self.assertLessEqual(max(shares.values()) - min(shares.values()), 1)
