from ledger import close_day


def test_close_day():
    close_day()
