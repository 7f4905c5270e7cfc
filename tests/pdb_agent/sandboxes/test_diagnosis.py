"""Each complaint of a backend leads to the one thing to do about it."""

import pytest
from pdb_agent.sandboxes.diagnosis import KernelFacts, fix_for, no_backend_elsewhere

OPEN = KernelFacts(apparmor_restricts=None, unprivileged_clone=None, max_user_namespaces=15000)
REFUSED = (
    "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged"
)


@pytest.mark.parametrize(
    ("complaint", "facts", "fix"),
    [
        (
            "bwrap: setting up uid map: Permission denied",
            KernelFacts(apparmor_restricts=1, unprivileged_clone=None, max_user_namespaces=15000),
            "/etc/apparmor.d/bwrap",
        ),
        (
            REFUSED,
            KernelFacts(apparmor_restricts=None, unprivileged_clone=None, max_user_namespaces=0),
            "sysctl user.max_user_namespaces",
        ),
        (
            REFUSED,
            KernelFacts(apparmor_restricts=None, unprivileged_clone=0, max_user_namespaces=15000),
            "kernel.unprivileged_userns_clone=1",
        ),
        (REFUSED, OPEN, "landlock backend"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", OPEN, "unmask=ALL"),
        ("bwrap: Can't find source path /root/.pyenv: Permission denied", OPEN, "/usr or /opt"),
    ],
)
def test_a_complaint_leads_to_its_fix(complaint, facts, fix):
    assert fix in (fix_for(complaint, facts) or "")


def test_a_complaint_that_says_it_itself_gets_no_fix():
    assert fix_for("bubblewrap is not installed: apt install bubblewrap", OPEN) is None


def test_other_systems_are_told_where_to_go():
    assert "landlock" in (no_backend_elsewhere("Darwin") or "")
    assert "WSL2" in (no_backend_elsewhere("Windows") or "")
    assert no_backend_elsewhere("Linux") is None


def test_this_kernel_can_be_read():
    allowed = KernelFacts.read().max_user_namespaces
    assert allowed is None or allowed >= 0
