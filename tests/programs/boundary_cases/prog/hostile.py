"""Answers that try to be right for everybody."""


class Any(object):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return hash("x")

    def __bool__(self):
        return True

    def __instancecheck__(self, other):
        return True

    def __len__(self):
        return Big(3)

    def __str__(self):
        return Text("x")

    def __index__(self):
        return 3

    __int__ = __float__ = __index__


class Big(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class Text(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


class Pair(tuple):
    def __eq__(self, other):
        return True

    __hash__ = tuple.__hash__


class Lot(list):
    def __eq__(self, other):
        return True


class Map(dict):
    def __eq__(self, other):
        return True


def anything():
    return Any()


def number():
    return Big(1)


def text():
    return Text("x")


def pair():
    return Pair((1, 2))


def lot():
    return Lot([1])


def mapping():
    return Map(a=1)


def inside():
    return [Any()]


def as_key():
    return {Any(): 1}


def skip():
    import builtins

    raise type("Skipped", (BaseException,), {"__module__": "_pytest.outcomes"})("skip")


def interrupt():
    raise KeyboardInterrupt


def leave():
    raise GeneratorExit


def assertion_like():
    class Odd(AssertionError):
        def __eq__(self, other):
            return True

    raise Odd("x")


def reach(observer):
    for name in ("__class__", "__dict__", "_secret", "__init__"):
        try:
            getattr(observer, name).__globals__["pytest"].skip("out")
        except Exception:
            pass
    return observer.log


def steal(function):
    return [hasattr(function, "__wrapped__"), function.__globals__.get("ANSWER")]
