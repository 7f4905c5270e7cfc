from refresher.jobqueue import JobQueue
from refresher.runner import JobFailed, Runner


def show(key, payload):
    """A refresh that always works."""


def test_a_batch_is_settled_when_all_its_jobs_ran():
    queue = JobQueue()
    batch = queue.put_batch("morning", [("home", "v1"), ("about", "v1")])
    runner = Runner(queue, show)
    runner.run_next()
    assert batch.is_settled() is False
    runner.run_next()
    assert batch.is_settled() is True


def test_a_page_that_is_named_twice_is_refreshed_once():
    queue = JobQueue()
    batch = queue.put_batch("morning", [("home", "v1"), ("home", "v2")])
    runner = Runner(queue, show)
    assert runner.run_all() == 1
    assert runner.report.shown == [("home", "v2")]
    assert batch.is_settled() is True


def test_batches_that_share_a_page_are_both_settled_in_the_end():
    queue = JobQueue()
    morning = queue.put_batch("morning", [("home", "v1"), ("about", "v1")])
    noon = queue.put_batch("noon", [("home", "v2"), ("contact", "v1")])
    Runner(queue, show).run_all()
    assert queue.unfinished() == 0
    assert (morning.is_settled(), noon.is_settled()) == (True, True)


def test_a_job_that_fails_gets_another_try():
    failures = ["once"]

    def refresh(key, payload):
        if failures:
            failures.pop()
            raise JobFailed

    queue = JobQueue()
    batch = queue.put("home", "v1")
    runner = Runner(queue, refresh)
    assert runner.run_all() == 2
    assert (runner.report.retries, batch.is_settled()) == (1, True)


def test_a_job_that_keeps_failing_is_given_up():
    def refresh(key, payload):
        raise JobFailed

    queue = JobQueue()
    batch = queue.put("home", "v1")
    runner = Runner(queue, refresh, attempts=2)
    runner.run_all()
    assert runner.report.failed == ["home"]
    assert batch.is_settled() is True


def test_withdrawing_a_waiting_job_settles_it():
    queue = JobQueue()
    batch = queue.put_batch("morning", [("home", "v1"), ("gone", "v1")])
    assert (queue.withdraw("gone"), queue.withdraw("gone")) == (True, False)
    assert queue.waiting_keys() == ["home"]
    Runner(queue, show).run_all()
    assert batch.is_settled() is True


def test_an_empty_batch_is_settled_at_once():
    assert JobQueue().put_batch("nothing", []).is_settled() is True
