import threading

from refresher.jobqueue import JobQueue
from refresher.runner import JobFailed, Runner


def show(key, payload):
    """A refresh that always works."""


def test_a_batch_is_open_until_the_job_that_superseded_another_ran():
    queue = JobQueue()
    queue.put("home", "old")
    noon = queue.put("home", "new")
    assert noon.is_settled() is False
    Runner(queue, show).run_all()
    assert noon.is_settled() is True


def test_a_superseded_job_is_settled_for_its_batch_at_once():
    queue = JobQueue()
    morning = queue.put("home", "old")
    queue.put_batch("noon", [("home", "new")])
    assert morning.is_settled() is True


def test_a_batch_is_not_settled_by_the_work_of_another():
    queue = JobQueue()
    morning = queue.put_batch("morning", [("home", "v1"), ("about", "v1")])
    noon = queue.put_batch("noon", [("home", "v2")])
    runner = Runner(queue, show)
    runner.run_next()
    assert (morning.is_settled(), noon.is_settled()) == (False, True)
    runner.run_next()
    assert (morning.is_settled(), noon.is_settled()) == (True, True)


def test_the_newer_job_takes_over_the_place_in_the_queue():
    queue = JobQueue()
    queue.put_batch("morning", [("home", "v1"), ("about", "v1"), ("shop", "v1")])
    queue.put_batch("noon", [("home", "v2")])
    runner = Runner(queue, show)
    runner.run_all()
    assert runner.report.shown == [("home", "v2"), ("about", "v1"), ("shop", "v1")]


def test_three_batches_for_one_page_are_settled_one_by_one():
    queue = JobQueue()
    batches = [queue.put_batch(name, [("home", name)]) for name in ("a", "b", "c")]
    assert [batch.is_settled() for batch in batches] == [True, True, False]
    runner = Runner(queue, show)
    assert runner.run_all() == 1
    assert runner.report.shown == [("home", "c")]
    assert [batch.is_settled() for batch in batches] == [True, True, True]


def test_a_failed_job_that_waits_again_can_be_superseded():
    queue = JobQueue()
    tries = []

    def refresh(key, payload):
        tries.append(payload)
        if payload == "old":
            raise JobFailed

    morning = queue.put_batch("morning", [("home", "old")])
    runner = Runner(queue, refresh)
    runner.run_next()
    noon = queue.put_batch("noon", [("home", "new")])
    assert (morning.is_settled(), noon.is_settled()) == (True, False)
    runner.run_all()
    assert tries == ["old", "new"]
    assert noon.is_settled() is True


def test_a_job_superseded_while_at_work_is_settled_by_its_own_work():
    queue = JobQueue()
    morning = queue.put("home", "old")
    job = queue.take()
    noon = queue.put("home", "new")
    queue.done(job)
    assert (morning.is_settled(), noon.is_settled()) == (True, False)
    assert queue.unfinished() == 1


def test_withdrawing_settles_the_batch_that_came_last():
    queue = JobQueue()
    queue.put_batch("morning", [("gone", "v1"), ("home", "v1")])
    noon = queue.put_batch("noon", [("gone", "v2")])
    assert queue.withdraw("gone") is True
    assert noon.is_settled() is True
    assert queue.waiting_keys() == ["home"]


def test_somebody_who_waits_for_the_newer_batch_is_woken():
    queue = JobQueue()
    queue.put("home", "old")
    noon = queue.put("home", "new")
    woken = []
    waiter = threading.Thread(target=lambda: woken.append(noon.wait(0.5)))
    waiter.start()
    Runner(queue, show).run_all()
    waiter.join(10)
    assert woken == [True]
    assert queue.join(1) is True
