from decimal import Decimal

from billing.invoice import Invoice, Line


def line(quantity, unit_price, tax_rate, discount="0"):
    return Line("Item", Decimal(quantity), Decimal(unit_price), Decimal(tax_rate), Decimal(discount))


def taxes_of(invoice):
    return [(str(rate), str(tax)) for rate, tax in invoice.taxes().items()]


def test_tax_of_many_lines_at_one_rate():
    invoice = Invoice([line("1", "0.07", "20")] * 5)

    assert taxes_of(invoice) == [("20", "0.07")]
    assert str(invoice.due) == "0.42"


def test_each_rate_is_rounded_once():
    invoice = Invoice([line("1", "0.22", "7"), line("1", "0.13", "19")])

    assert taxes_of(invoice) == [("7", "0.02"), ("19", "0.02")]
    assert str(invoice.due) == "0.39"


def test_rates_whose_taxes_end_below_half_a_cent():
    invoice = Invoice([line("1", "0.06", "7"), line("1", "0.02", "19"), line("1", "0.04", "10")])

    assert taxes_of(invoice) == [("7", "0.00"), ("10", "0.00"), ("19", "0.00")]
    assert str(invoice.due) == "0.12"


def test_lines_of_two_rates_in_turn():
    invoice = Invoice([line("1", "0.13", "19"), line("1", "0.21", "7")] * 2)

    assert taxes_of(invoice) == [("7", "0.03"), ("19", "0.05")]
    assert str(invoice.due) == "0.76"


def test_tax_is_taken_of_amounts_in_cents():
    invoice = Invoice([line("1", "0.125", "20")] * 2)

    assert (str(invoice.net), str(invoice.due)) == ("0.26", "0.31")


def test_credit_note_mirrors_the_invoice():
    invoice = Invoice([line("1", "0.05", "10"), line("3", "0.15", "10", "50")])

    assert (str(invoice.due), str(invoice.credit_note().due)) == ("0.31", "-0.31")


def test_printed_totals():
    invoice = Invoice([line("3", "0.11", "7"), line("1", "0.03", "7"), line("1", "8.00", "19")])

    assert invoice.totals() == ["Net 8.36", "Tax 7 % 0.03", "Tax 19 % 1.52", "Due 9.91"]
    assert invoice.credit_note().totals()[-1] == "Credit 9.91"
