import threading

accounts = threading.Lock()
journal = threading.Lock()
begun = threading.Event()


def post():
    with journal:
        begun.set()
        with accounts:
            return "posted"


def close_day():
    with accounts:
        poster = threading.Thread(target=post, name="poster")
        poster.start()
        begun.wait()
        with journal:
            poster.join()
