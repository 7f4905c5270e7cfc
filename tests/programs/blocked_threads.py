"""Blocks threads and tasks in every way that is told apart, then prints what is told of them.

``python blocked_threads.py DEBUGGEE_FOLDER`` in any interpreter; it never ends by itself other than by printing.
"""

import asyncio
import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
import types
from concurrent.futures import Future

lock_a = threading.Lock()
lock_b = threading.Lock()
reentrant = threading.RLock()
event = threading.Event()
condition = threading.Condition()
items = queue.Queue()
full = queue.Queue(maxsize=1)
full.put(1)
simple = queue.SimpleQueue()
semaphore = threading.Semaphore(0)
barrier = threading.Barrier(2)
both = threading.Barrier(2)
future = Future()
ours, theirs = socket.socketpair()
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


class Account:
    def __init__(self):
        self.lock = lock_a

    def __getattribute__(self, name):
        if name != "lock":
            raise AssertionError("no code of the program may run")
        return object.__getattribute__(self, name)


account = Account()


def first():
    with account.lock:
        both.wait()
        with lock_b:
            pass


def second():
    lock_b.acquire()
    both.wait()
    account.lock.acquire()


def reenter():
    with reentrant:
        pass


def recurse(n):
    if n:
        return recurse(n - 1)
    event.wait()


def sleeper():
    time.sleep(1000)


def getter():
    items.get()


def putter():
    full.put(2)


def simple_getter():
    simple.get()


def notified():
    with condition:
        condition.wait()


def counted():
    semaphore.acquire()


def party():
    barrier.wait()


def joiner():
    threads["first"].join()


def promised():
    future.result()


def receiver():
    ours.recv(1)


def parent():
    child.wait()


def reader():
    input()


def busy():
    while True:
        time.monotonic()


async def leaf():
    await asyncio.sleep(1000)


async def awaiting():
    await leaf()


async def stream():
    await asyncio.sleep(1000)
    yield 1


async def iterating():
    async for _ in stream():
        pass


async def locked(lock):
    async with lock:
        await asyncio.sleep(1000)


async def queued():
    await asyncio.Queue().get()


async def evented():
    await asyncio.Event().wait()


async def following(task):
    await task


async def forever():
    await asyncio.get_running_loop().create_future()


async def everything():
    lock = asyncio.Lock()
    tasks = {}

    def start(name, coroutine):
        tasks[name] = asyncio.get_running_loop().create_task(coroutine, name=name)

    start("awaiting", awaiting())
    start("iterating", iterating())
    start("holder", locked(lock))
    start("waiter", locked(lock))
    start("queued", queued())
    start("evented", evented())
    start("following", following(tasks["awaiting"]))
    start("forever", forever())
    await asyncio.sleep(0)
    await asyncio.gather(*tasks.values())


def loop():
    asyncio.run(everything())


functions = [first, second, reenter, sleeper, getter, putter, simple_getter, notified, counted, party]
functions += [joiner, promised, receiver, parent, reader, busy, loop]
threads = {}
TASKS = {"awaiting", "iterating", "holder", "waiter", "queued", "evented", "following", "forever"}


def start_threads():
    for function in functions:
        threads[function.__name__] = threading.Thread(target=function, name=function.__name__, daemon=True)
        threads[function.__name__].start()
    threads["recurse"] = threading.Thread(target=recurse, args=(40,), name="recurse", daemon=True)
    threads["recurse"].start()


def snapshot(stacks):
    """What is told once every thread but the busy one waits, and goes on waiting for the same."""
    waiting = {function.__name__ for function in functions} - {"busy"} | {"recurse", *TASKS}
    deadline = time.monotonic() + 30
    before, unchanged = {}, 0
    while unchanged < 10 and time.monotonic() < deadline:
        told = {entry["name"]: entry for entry in stacks.thread_stacks() + stacks.task_stacks()}
        reasons = {name: told[name]["waits_on"] for name in waiting if name in told}
        settled = len(reasons) == len(waiting) and all(reasons.values()) and "lock" in reasons["first"]
        unchanged = unchanged + 1 if settled and reasons == before else 0
        before = reasons
    return told


def main():
    package = types.ModuleType("_mcp_pdb_debuggee")
    package.__path__ = [sys.argv[1]]
    sys.modules[package.__name__] = package
    from _mcp_pdb_debuggee import stacks

    reentrant.acquire()
    start_threads()
    told = snapshot(stacks)
    with threading._active_limbo_lock:
        stacks.thread_stacks()
    child.kill()
    child.wait()
    print(json.dumps(told))
    sys.stdout.flush()
    os._exit(0)


main()
