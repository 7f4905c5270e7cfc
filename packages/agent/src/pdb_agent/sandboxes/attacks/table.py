"""The attacks, each with its judge: what ``pdb-agent doctor --sandbox`` goes through."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pdb_agent.sandbox import MEBIBYTE, Limits
from pdb_agent.sandboxes.attacks import judging
from pdb_agent.sandboxes.attacks.judging import Judge

ATTACK_LIMITS = Limits(
    memory_bytes=256 * MEBIBYTE,
    cpu_seconds=2,
    file_bytes=8 * MEBIBYTE,
    disk_bytes=16 * MEBIBYTE,
)
"""Limits of the usual kind, small so that running into them is quick."""
ATTEMPT_MB = 4 * ATTACK_LIMITS.memory_bytes // MEBIBYTE
FILL_MB = 4 * ATTACK_LIMITS.disk_bytes // MEBIBYTE
ATTEMPTS = 300
FILES = 20_000
_SLACK = 1.2
"""Limits are kept within a page cache, a watch interval or an interpreter's own needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One thing that code inside might try."""

    name: str
    """The function in its module of ``attacks.programs``."""
    module: str
    title: str
    judge: Judge
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    limits: Limits = ATTACK_LIMITS
    timeout_seconds: float = 10.0
    fetches: tuple[str, ...] = ()
    """Files that the host takes out of the workspace afterwards."""
    aims_at_agent: bool = False
    """It signals the sandbox's own processes: the sandbox need not live on."""


def _memory(limits: Limits) -> float:
    return _SLACK * limits.memory_bytes / MEBIBYTE


def _disk(limits: Limits) -> float:
    return _SLACK * limits.disk_bytes / MEBIBYTE


def _processes(limits: Limits) -> float:
    return limits.processes


_FILL: Mapping[str, object] = {"attempt_mb": FILL_MB, "file_mb": 4}

EXHAUSTING = (
    Attack(
        name="fork_bomb",
        module="exhausting",
        title="300 processes",
        judge=judging.bounded("count", "processes", _processes),
        settings={"attempts": ATTEMPTS},
        limits=Limits(),  # sixty interpreters' sizes add up to more than the small limit
    ),
    Attack(
        name="thread_bomb",
        module="exhausting",
        title="300 threads",
        judge=judging.bounded("count", "threads", _processes),
        settings={"attempts": ATTEMPTS},
    ),
    Attack(
        name="memory_of_one",
        module="exhausting",
        title="4 × the memory, in one process",
        judge=judging.bounded("mb", "MB", _memory),
        settings={"attempt_mb": ATTEMPT_MB},
    ),
    Attack(
        name="memory_of_six",
        module="exhausting",
        title="4 × the memory, in six processes",
        judge=judging.bounded("mb", "MB", _memory),
        settings={"attempt_mb": ATTEMPT_MB},
    ),
    Attack(
        name="memory_shared",
        module="exhausting",
        title="4 × the memory, in shared pages",
        judge=judging.bounded("mb", "MB", _memory),
        settings={"attempt_mb": ATTEMPT_MB},
    ),
    Attack(
        name="memory_of_nobody",
        module="exhausting",
        title="memory that no process's size shows",
        judge=judging.refused,
    ),
    Attack(
        name="memory_of_sockets",
        module="exhausting",
        title="4 × the memory, in the buffers of sockets",
        judge=judging.bounded("mb", "MB", _memory),
        settings={"attempt_mb": ATTEMPT_MB},
    ),
    Attack(
        name="memory_of_connections",
        module="exhausting",
        title="4 × the memory, in the buffers of connections",
        judge=judging.bounded("mb", "MB", _memory),
        settings={"attempt_mb": ATTEMPT_MB},
    ),
    Attack(
        name="fill_workspace",
        module="exhausting",
        title="4 × the disk, in the workspace",
        judge=judging.bounded("mb", "MB", _disk),
        settings=_FILL,
    ),
    Attack(
        name="fill_temporary",
        module="exhausting",
        title="4 × the disk, in the temporary folder",
        judge=judging.bounded("mb", "MB", _disk),
        settings=_FILL,
    ),
    Attack(
        name="fill_shared_memory",
        module="exhausting",
        title="4 × the disk, in /dev/shm",
        judge=judging.bounded("mb", "MB", _disk),
        settings=_FILL,
    ),
    Attack(name="sparse_file", module="exhausting", title="a sparse file of 1 TB", judge=judging.refused),
    Attack(
        name="inode_flood",
        module="exhausting",
        title="20,000 files",
        judge=judging.no_inodes_lost,
        settings={"attempts": FILES},
    ),
    Attack(name="output_flood", module="exhausting", title="output without end", judge=judging.flooded),
    Attack(
        name="endless_loop",
        module="exhausting",
        title="a loop without end",
        judge=judging.ended_in_time,
        timeout_seconds=5.0,
    ),
    Attack(
        name="ignores_signals",
        module="exhausting",
        title="a process that ignores every signal",
        judge=judging.nothing_left,
        timeout_seconds=0.7,
    ),
    Attack(
        name="daemon",
        module="exhausting",
        title="a daemon: two forks and a session",
        judge=judging.nothing_left,
    ),
)

REACHING = (
    Attack(
        name="read_environments",
        module="reaching",
        title="reads the environment of the host's processes",
        judge=judging.refused,
    ),
    Attack(name="read_key", module="reaching", title="reads a private ssh key", judge=judging.refused),
    Attack(
        name="read_accounts",
        module="reaching",
        title="reads the host's /etc/passwd",
        judge=judging.other_accounts,
    ),
    Attack(
        name="read_agent",
        module="reaching",
        title="reads memory, environment and descriptors of the agent",
        judge=judging.refused,
    ),
    Attack(
        name="stray_descriptors", module="reaching", title="uses inherited descriptors", judge=judging.refused
    ),
    Attack(
        name="connect_tcp",
        module="reaching",
        title="connects to the host by TCP",
        judge=judging.unreached("tcp"),
    ),
    Attack(
        name="send_udp", module="reaching", title="sends to the host by UDP", judge=judging.unreached("udp")
    ),
    Attack(
        name="connect_abstract",
        module="reaching",
        title="connects to an abstract socket of the host",
        judge=judging.unreached("abstract"),
    ),
    Attack(
        name="connect_path",
        module="reaching",
        title="connects to a socket in a folder of the host",
        judge=judging.unreached("path"),
    ),
    Attack(name="make_vsock", module="reaching", title="makes a vsock socket", judge=judging.refused),
    Attack(
        name="write_outside", module="reaching", title="writes outside the workspace", judge=judging.no_strays
    ),
    Attack(
        name="link_out",
        module="reaching",
        title="leads the host through symbolic links",
        judge=judging.no_key_fetched,
        fetches=("link.py", "folder/id_ed25519"),
    ),
    Attack(
        name="hard_link",
        module="reaching",
        title="leads the host through a hard link",
        judge=judging.no_key_fetched,
        fetches=("hard_link.py",),
    ),
    Attack(
        name="change_mode",
        module="reaching",
        title="changes the mode of the host's files",
        judge=judging.key_untouched,
    ),
    Attack(
        name="leave_in_tmp",
        module="reaching",
        title="leaves a file in the host's /tmp",
        judge=judging.no_strays,
    ),
)

SIGNALLING = (
    Attack(
        name="kill_host",
        module="reaching",
        title="kills a process of the host",
        judge=judging.victim_untouched,
    ),
    Attack(
        name="stop_host",
        module="reaching",
        title="stops a process of the host",
        judge=judging.victim_untouched,
    ),
    Attack(
        name="trace_host",
        module="reaching",
        title="traces a process of the host",
        judge=judging.victim_untouched,
    ),
    Attack(
        name="limit_host",
        module="reaching",
        title="takes a limit from a process of the host",
        judge=judging.victim_untouched,
    ),
    Attack(
        name="kill_agent",
        module="reaching",
        title="kills the sandbox's own agent",
        judge=judging.agent_held,
        timeout_seconds=3.0,
        aims_at_agent=True,
    ),
    Attack(
        name="stop_agent",
        module="reaching",
        title="stops the sandbox's own agent",
        judge=judging.agent_held,
        timeout_seconds=3.0,
        aims_at_agent=True,
    ),
)

KERNEL = (
    Attack(name="nested_namespace", module="kernel", title="makes a user namespace", judge=judging.refused),
    Attack(
        name="kernel_surface",
        module="kernel",
        title="io_uring, keyctl, bpf, perf, userfaultfd",
        judge=judging.refused,
    ),
    Attack(name="gain_privileges", module="kernel", title="holds or gains privileges", judge=judging.refused),
)

ATTACKS = EXHAUSTING + REACHING + SIGNALLING + KERNEL
PROBES = tuple(attack for attack in ATTACKS if attack.name in {"read_key", "connect_path", "kill_host"})
"""Three that must fail before a backend is taken at all."""
