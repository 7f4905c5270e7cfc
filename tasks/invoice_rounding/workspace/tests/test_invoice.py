from decimal import Decimal

from billing.invoice import Invoice, Line, to_cents


def line(quantity, unit_price, tax_rate="19", discount="0"):
    return Line("Item", Decimal(quantity), Decimal(unit_price), Decimal(tax_rate), Decimal(discount))


def test_half_a_cent_goes_away_from_zero():
    rounded = [str(to_cents(Decimal(text))) for text in ("0.005", "-0.005", "2.675")]

    assert rounded == ["0.01", "-0.01", "2.68"]


def test_net_amount_of_a_line_is_in_cents():
    assert str(line("3", "0.333").net) == "1.00"
    assert str(line("2", "9.99", discount="15").net) == "16.98"


def test_single_line():
    invoice = Invoice([line("1", "100.00")])

    assert (str(invoice.net), str(invoice.due)) == ("100.00", "119.00")


def test_many_small_lines():
    invoice = Invoice([line("1", "0.13"), line("1", "0.13"), line("1", "0.13")])

    assert str(invoice.net) == "0.39"
    assert str(invoice.due) == "0.46"


def test_taxes_by_rate():
    invoice = Invoice([line("1", "50.00"), line("2", "10.00", "7"), line("1", "50.00")])

    assert {int(rate): float(tax) for rate, tax in invoice.taxes().items()} == {7: 1.4, 19: 19.0}


def test_invoice_without_lines():
    assert str(Invoice([]).due) == "0.00"


def test_credit_note_gives_money_back():
    invoice = Invoice([line("1", "100.00")])

    assert (invoice.is_credit, invoice.credit_note().is_credit) == (False, True)
    assert str(invoice.credit_note().due) == "-119.00"
