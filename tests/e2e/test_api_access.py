# SPDX-License-Identifier: BSD-3-Clause
"""Who may use the API, how much of it, and what it tells whom."""

import contextlib
import pwd
import re
import shutil
import socket
import stat
import time

import pytest
from lib.namespaces import run
from lib.pktpit_router import TOOL
from lib.waiting import DEADLINE, wait_for
from lib.web import assert_answered_first, standing_still

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("the API is Pktpit's")

NOBODY = pwd.getpwnam("nobody")
GROUP = "nogroup"
NET = {"config": {"api": {"connections_per_user": 40}}}


def as_nobody(*words, groups=(), **keywords):
    """A command as another user, of these groups beside its own."""
    return run(*words, check=False, user=NOBODY.pw_uid, group=NOBODY.pw_gid, extra_groups=groups, **keywords)


def tool_in_the_open(net):
    """The CLI where every user gets to it: a build below /root is root's alone. After move_into_the_open()."""
    return shutil.copy(TOOL, net.router.directory / "pktpit")


def connections(path, count):
    clients = []
    for _ in range(count):
        clients.append(socket.socket(socket.AF_UNIX))
        clients[-1].connect(str(path))
    return clients


@pytest.fixture
def clients():
    with contextlib.ExitStack() as open_ones:
        def connect(path, count):
            return [open_ones.enter_context(client) for client in connections(path, count)]
        yield connect


@requirement("24 clients that say nothing, and 24 that say half a request, delay nobody")
@pytest.mark.parametrize("said", [b"", b"POST /v1/routes HTTP/1.1\r\nContent-Length: 100\r\n\r\n{"])
def test_idle_clients_delay_nobody(net, clients, said):
    def come():
        held = clients(net.router.socket, 24)
        for client in held:
            client.sendall(said)
        return held

    assert_answered_first(net.router, come)


@requirement("a client that says nothing is sent away, after 2 s and not before")
def test_idle_clients_are_sent_away(net, clients):
    begin = time.monotonic()
    client, = clients(net.router.socket, 1)
    client.settimeout(DEADLINE)
    assert client.recv(1000) == b""
    assert time.monotonic() - begin >= 2.0


@requirement("/api/connections_per_user: one more is told so, and let in again when another has gone; all else works")
def test_connections_of_one_user_are_limited(build_net, clients):
    net = build_net(config={"api": {"connections_per_user": 3}})
    with standing_still(net.router):
        held = clients(net.router.socket, 3)
        for client in held:  # what it answers has no end, so that nobody is sent away for saying nothing
            client.sendall(b"GET /v1/trace HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for client in held:
        client.settimeout(DEADLINE)
        assert client.recv(12) == b"HTTP/1.1 200"
    refused = net.router.cli("show", "version", check=False)
    assert refused.returncode == 1 and "too many connections" in refused.stderr, refused.stderr
    held[0].close()
    wait_for(lambda: net.router.cli("show", "version", check=False).returncode == 0, "there is room again")


@requirement("/api/group: the socket is its, mode 0660, in a folder that others cannot open; state files are nobody else's")
def test_the_socket_is_the_groups(build_net):
    net = build_net(start=False, config={"api": {"group": GROUP}})
    net.router.move_into_the_open()
    net.router.start()
    socket_path, folder = net.router.socket, net.router.run_folder
    status = socket_path.stat()
    assert stat.S_IMODE(status.st_mode) == 0o660 and status.st_gid == NOBODY.pw_gid
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750 and folder.stat().st_gid == NOBODY.pw_gid
    net.router.route("add", "203.0.113.0/24", "via", net.b.ip4)
    files = [path for path in folder.iterdir() if not stat.S_ISSOCK(path.stat().st_mode)]
    assert f"{net.router.instance}.state" in [path.name for path in files]
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) & 0o037 == 0, path
    tool = tool_in_the_open(net)
    allowed = as_nobody(tool, "--socket", socket_path, "show", "version")
    assert allowed.returncode == 0, allowed.stderr
    refused = run(tool, "--socket", socket_path, "show", "version", check=False, user=12345, group=12345, extra_groups=())
    assert refused.returncode == 2 and "ermission denied" in refused.stderr


@requirement("each change is in the log: by whom, what, and what became of it")
def test_changes_are_audited(net):
    before = len(net.router.log())
    net.router.route("add", "203.0.113.0/24", "via", net.b.ip4)
    net.router.route("add", "203.0.113.0/24", "via", net.b.ip4, check=False)
    net.router.route("del", "203.0.113.0/24")
    net.router.reload()
    lines = [line for line in net.router.log()[before:].splitlines() if "API: uid 0, gid 0, pid " in line]
    wanted = [r'POST /v1/routes \{.*"203\.0\.113\.0/24".*\}: 200', r"POST /v1/routes .*: 409", r"DELETE /v1/routes .*: 200",
              r"POST /v1/reload .*: 200"]
    assert len(lines) == len(wanted) and all(re.search(*pair) for pair in zip(wanted, lines)), lines


@requirement("a reload takes its file from the configured folders alone, and shows nothing of others")
@pytest.mark.parametrize("path", ["/etc/shadow", "/etc/no-such-file", "/proc/self/environ"])
def test_reload_from_elsewhere_is_refused(net, path):
    before = net.router.json("show", "version")["generation"]
    refused = net.router.cli("reload", path, check=False)
    assert refused.returncode == 1 and "not taken from there" in refused.stderr
    assert "root:" not in refused.stderr and "JSON" not in refused.stderr and "No such file" not in refused.stderr
    assert net.router.json("show", "version")["generation"] == before


@requirement("a symbolic link in the folder to a file outside of it is not followed")
def test_reload_follows_no_link_out_of_the_folder(net):
    link = net.router.directory / "link.json"
    link.symlink_to("/etc/shadow")
    refused = net.router.cli("reload", link, check=False)
    assert refused.returncode == 1 and "not taken from there" in refused.stderr and "root:" not in refused.stderr


@requirement("who may not read a file is told nothing of what is in it")
def test_errors_do_not_show_what_the_caller_cannot_read(build_net):
    net = build_net(start=False, config={"api": {"group": GROUP}})
    net.router.move_into_the_open()
    net.router.start()
    socket_path = net.router.socket
    secret = net.router.directory / "secret.json"
    secret.write_text('{"interfaces": s3cret-words}')
    secret.chmod(0o600)
    tool = tool_in_the_open(net)
    told = as_nobody(tool, "--socket", socket_path, "reload", secret)
    assert told.returncode == 1 and "1 error" in told.stderr and "s3cret" not in told.stderr, told.stderr
    assert "s3cret" in net.router.log()
    assert "s3cret" in run(TOOL, "--socket", socket_path, "reload", secret, check=False).stderr, "root may"
    secret.chmod(0o644)
    assert "s3cret" in as_nobody(tool, "--socket", socket_path, "reload", secret).stderr, "now everybody may"
