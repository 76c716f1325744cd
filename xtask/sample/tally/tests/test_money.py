import unittest

from tally import money


class Money(unittest.TestCase):
    def test_amounts_are_read_to_the_cent(self):
        self.assertEqual([money.parse(text) for text in ("12", "12.5", "12.50")], [1200, 1250, 1250])

    def test_what_is_no_amount_is_refused(self):
        for text in ("", "a", "1.234", "-1", "1.x"):
            with self.assertRaises(ValueError):
                money.parse(text)

    def test_amounts_are_written_with_two_digits(self):
        self.assertEqual([money.show(cents) for cents in (1205, 7, -250)], ["12.05", "0.07", "-2.50"])
