"""A Slurm cluster of two nodes on loopback, with accounting, in a temporary folder.

with SlurmCluster(folder) as cluster:
    cluster.run("sinfo")

It needs root, and Debian's slurm-wlm, slurmdbd, munge and mariadb-server. All daemons end with the
`with` block.
"""

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

NODES = ("n1", "n2")
_PATIENCE = 30.0  # seconds that a daemon has to begin

# A node that does not respond for ten seconds is down. Jobs in the partition `urgent` preempt those
# in `main`.
_SLURM = """
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={ctld}
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldTimeout=10
SlurmdTimeout=10
KillWait=20
ReturnToService=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd}
AccountingStoragePass={folder}/munge.socket
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={n1} CPUs=1 RealMemory=8000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={n2} CPUs=1 RealMemory=8000
PartitionName=main Nodes=n1,n2 Default=YES PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=n1,n2 PriorityTier=10 PreemptMode=off
"""
_SLURMDBD = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdPort={dbd}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={sql}
StorageUser=root
StorageLoc=slurm
PidFile={folder}/slurmdbd.pid
"""


def _path():
    return f"{os.environ['PATH']}:/usr/sbin"


class SlurmCluster:
    """Daemons, started in the order of their dependencies.

    A node is a process namespace, so all of its processes end together.
    """

    def __init__(self, folder):
        self.folder, self.running = Path(folder), {}
        names = ("sql", "dbd", "ctld", *NODES)
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.socket()) for _ in names]
            for one in sockets:
                one.bind(("127.0.0.1", 0))
            self.ports = {
                name: one.getsockname()[1] for name, one in zip(names, sockets, strict=True)
            }
        self.environment = {
            **os.environ,
            "PATH": _path(),
            "SLURM_CONF": str(self.folder / "slurm.conf"),
        }

    def __enter__(self):
        try:
            self._begin()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *exception):
        self._end()

    def run(self, *command, check=True):
        """The output of a command that talks to the cluster."""
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0 or not check, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def _begin(self):
        (self.folder / "state").mkdir(parents=True)
        values = {"folder": self.folder, "host": socket.gethostname(), **self.ports}
        for name, text in (("slurm.conf", _SLURM), ("slurmdbd.conf", _SLURMDBD)):
            (self.folder / name).write_text(text.format_map(values), encoding="utf-8")
            (self.folder / name).chmod(0o600)
        self._munge()
        self._database()
        self._start("slurmdbd", "slurmdbd", "-D")
        self._until(self._accounts)
        self._start("slurmctld", "slurmctld", "-D", "-f", str(self.folder / "slurm.conf"))
        for node in NODES:
            self.start_node(node)
        self._until(
            lambda: (
                self.run("sinfo", "-hN", "-p", "main", "-o", "%t", check=False).split()
                == ["idle"] * len(NODES)
            )
        )

    def _accounts(self):
        done = subprocess.run(
            ["sacctmgr", "-n", "show", "cluster"],
            env=self.environment,
            capture_output=True,
            check=False,
        )
        return done.returncode == 0

    def _munge(self):
        self.folder.chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        files = [
            f"--{name}={self.folder / 'munge'}.{name.removesuffix('-file')}"
            for name in ("key-file", "log-file", "pid-file", "seed-file")
        ]
        self._start(
            "munge",
            "munged",
            "--foreground",
            "--force",
            f"--socket={self.folder}/munge.socket",
            *files,
        )
        self._until((self.folder / "munge.socket").exists)

    def _database(self):
        data = self.folder / "sql"
        options = ["--no-defaults", f"--datadir={data}", "--user=root"]
        self.run(
            "mariadb-install-db",
            *options,
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        )
        where = [
            f"--socket={self.folder}/sql.socket",
            f"--port={self.ports['sql']}",
            "--bind-address=127.0.0.1",
        ]
        self._start(
            "mariadb",
            "mariadbd",
            *options,
            *where,
            f"--pid-file={self.folder}/sql.pid",
            "--skip-name-resolve",
        )
        self._until((self.folder / "sql.socket").exists)

    def start_node(self, node):
        slurmd = ["slurmd", "-D", "-N", node, "-f", str(self.folder / "slurm.conf")]
        self._start(node, "unshare", "--pid", "--mount-proc", "--fork", "--kill-child", *slurmd)

    def kill_node(self, node):
        """As when a machine loses its power."""
        self._stop(node, signal.SIGKILL)

    def _start(self, name, *command):
        with open(self.folder / f"{name}.log", "a", encoding="utf-8") as log:
            self.running[name] = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def _until(self, ready):
        until = time.monotonic() + _PATIENCE
        while not ready():
            for name, process in self.running.items():
                assert process.poll() is None, (
                    f"{name} ended: {(self.folder / f'{name}.log').read_text()[-2000:]}"
                )
            assert time.monotonic() < until, {
                name: (self.folder / f"{name}.log").read_text()[-1000:] for name in self.running
            }
            time.sleep(0.2)

    def _stop(self, name, number=signal.SIGTERM):
        process = self.running.pop(name)
        process.send_signal(number)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _end(self):
        for name in reversed(list(self.running)):
            self._stop(name, signal.SIGKILL if name in NODES else signal.SIGTERM)
