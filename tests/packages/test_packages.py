# SPDX-License-Identifier: BSD-3-Clause
"""The packages themselves, and what becomes of them in a fresh Debian 12: with systemd as its first process, and without any."""

import json
import re
import subprocess

import pytest
from conftest import NEXT, ROOT
from lib.namespaces import run
from lib.packets import udp4, udp6, wait_for_crossing
from lib.pktpit_router import BUILD
from lib.stream import assert_nothing_lost
from lib.waiting import wait_for

requirement = pytest.mark.requirement


def contents(file):
    """Paths of a package's files."""
    listed = subprocess.run(["dpkg-deb", "--fsys-tarfile", file], capture_output=True, check=True).stdout
    names = subprocess.run(["tar", "-t"], input=listed, capture_output=True, check=True).stdout.decode().split("\n")
    return {name.removeprefix(".") for name in names if name and not name.endswith("/")}


@requirement("lintian finds no error and no warning; what is overridden has its reason beside it")
def test_lintian(packages):
    said = run("lintian", "--allow-root", "--tag-display-limit", "0", *packages.values(), check=False, timeout=600)
    assert said.returncode == 0 and not said.stdout.strip(), said.stdout + said.stderr
    for overrides in (ROOT / "packaging" / "debian").glob("*lintian-overrides"):
        lines = overrides.read_text().split("\n")
        assert all(lines[index - 1].startswith("#") for index, line in enumerate(lines) if line and not line.startswith("#"))


@requirement("`make install` installs the same files")
def test_make_install_has_the_same_files(packages, tmp_path):
    run("cmake", "--install", BUILD, "--prefix", "/usr/local", env={"DESTDIR": str(tmp_path), "PATH": "/usr/bin:/bin"})
    installed = {str(path).removeprefix(str(tmp_path)) for path in tmp_path.rglob("*") if path.is_file() or path.is_symlink()}
    installed = {re.sub(r"^/usr/local/", "/usr/", name) for name in installed}
    packed = set()
    for name, file in packages.items():
        packed |= {path for path in contents(file) if not re.search(rf"/usr/share/(doc/{name}/(changelog|copyright)|lintian/)", path)}
    # Where Debian has a place of its own.
    packed = {re.sub(r"^/lib/systemd/", "/usr/lib/systemd/", path).replace("/zsh/vendor-completions/", "/zsh/site-functions/")
              for path in packed}
    packed = {re.sub(r"(/man/.*)\.gz$", r"\1", path) for path in packed}
    assert packed == installed
    unit = (tmp_path / "usr/local/lib/systemd/system/pktpitd.service").read_text()
    assert "ExecStart=/usr/local/sbin/pktpitd " in unit and "/usr/sbin" not in unit
    # What is configured there is not taken away by installing again.
    configuration = tmp_path / "etc" / "pktpit" / "pktpit.json"
    configuration.write_text("{}")
    run("cmake", "--install", BUILD, "--prefix", "/usr/local", env={"DESTDIR": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert configuration.read_text() == "{}"


@requirement("stripped; the daemon is linked with no library of DPDK")
def test_programs(packages, tmp_path):
    for name, file in packages.items():
        run("dpkg-deb", "-x", file, tmp_path / name)
    # Of eBPF objects the kernel's loader needs the symbols.
    programs = [path for path in tmp_path.rglob("*")
                if path.is_file() and not path.name.endswith(".bpf.o") and path.read_bytes()[:4] == b"\x7fELF"]
    assert {"pktpit", "pktpitd", "dataplane-dpdk.so"} <= {program.name for program in programs}
    for program in programs:
        sections = run("readelf", "-SW", program).stdout
        assert ".debug_info" not in sections and ".symtab" not in sections, program
    needed = run("ldd", tmp_path / "pktpit" / "usr/sbin/pktpitd").stdout
    assert "libspdlog" in needed and "librte" not in needed, needed
    assert "librte" not in run("dpkg-deb", "-f", packages["pktpit"], "Depends").stdout
    assert "librte-ethdev" in run("dpkg-deb", "-f", packages["pktpit-dpdk"], "Depends").stdout


def configure(machine, **more):
    wanted = {"interfaces": {host.port: {"addresses": [f"{host.router_ip4}/24", f"{host.router_ip6}/64"]} for host in (machine.a, machine.b)},
              "routes": [route for host in (machine.a, machine.b) for route in
                         ({"prefix": f"198.18.{host.number}.0/24", "via": host.ip4},
                          {"prefix": f"2001:db8:{host.number}:100::/56", "via": host.ip6})],
              "heartbeat": {"worker_ms": 2000}, **more}
    machine.path("/etc/pktpit/pktpit.json").write_text(json.dumps(wanted))


def crosses(machine):
    for first, second in ((machine.a, machine.b), (machine.b, machine.a)):
        for make in (udp4, udp6):
            wait_for_crossing(first, second, make)


def pktpit(machine, *words, **keywords):
    return machine.run("pktpit", *words, **keywords)


def version(machine):
    answered = pktpit(machine, "show", "version", "--json", check=False)
    return json.loads(answered.stdout) if answered.returncode == 0 else None


def stage(machine):
    """The number of the program that the kernel has at p1, or None."""
    [link] = json.loads(machine.topology.router_namespace.ip("-j", "link", "show", "p1").stdout)
    return link["xdp"]["prog"]["id"] if "xdp" in link else None


def installed_version(machine, name="pktpit"):
    return machine.run("dpkg-query", "-W", "-f", "${Version}", name).stdout


@requirement("with systemd: installed, it runs and routes nothing; started by a changed file, it routes; upgraded over running traffic, none "
             "is lost; removed and purged, nothing is left")
def test_life_under_systemd(machine, packages, next_packages, stream):
    machine.boot()
    before, users = machine.files(), machine.users()
    machine.install(packages["pktpit"])
    assert "/usr/sbin/pktpitd" in machine.files() - before and machine.users() != users
    wait_for(lambda: version(machine), "the daemon answers after its installation")
    assert machine.sh("systemctl is-enabled pktpitd; systemctl is-active pktpitd").stdout.split() == ["enabled", "active"]
    assert machine.sh("stat -c %U /proc/$(systemctl show -P MainPID pktpitd)").stdout.strip() == "pktpit"
    assert json.loads(pktpit(machine, "show", "ports", "--json").stdout)["ports"] == [] and stage(machine) is None

    configure(machine)
    assert pktpit(machine, "check", "/etc/pktpit/pktpit.json").returncode == 0
    machine.run("systemctl", "reload", "pktpitd")
    wait_for(lambda: stage(machine), "the ports have their stages")
    crosses(machine)

    running = stream(machine.a, machine.b)
    first = version(machine)["pid"]
    earlier = stage(machine)
    machine.install(next_packages["pktpit"])
    assert installed_version(machine).endswith(NEXT)
    wait_for(lambda: (now := version(machine)) and now["pid"] != first, "another daemon answers", interval=0.05)
    running.flows_again(5000)
    assert_nothing_lost(running.finish())
    assert machine.sh("systemctl is-active pktpitd").stdout.strip() == "active"
    told = machine.sh("journalctl --no-pager -u pktpitd").stdout
    assert "stopped; the data path goes on without the daemon" in told and "stopped, and the data path with it" not in told
    assert stage(machine) not in (None, earlier), "the new daemon's own program"
    crosses(machine)

    machine.apt("remove", "pktpit")
    assert stage(machine) is None and not machine.path("/sys/fs/bpf/pktpit").exists()
    machine.apt("purge", "pktpit")
    assert machine.files() - before == set() and machine.users() == users


@requirement("without systemd: a daemon that was started by hand is left alone by an upgrade, and is replaced when its user wants to; a data "
             "path without its daemon goes with the package")
def test_life_without_systemd(machine, packages, next_packages, stream):
    machine.begin(systemd=False)
    before, users = machine.files(), machine.users()
    machine.install(packages["pktpit"])
    assert version(machine) is None  # nobody has started it
    assert pktpit(machine, "check", "/etc/pktpit/pktpit.json").returncode == 0
    assert machine.sh("stat -c '%a %U:%G' /etc/pktpit /etc/pktpit/pktpit.json").stdout.split("\n")[:2] == ["750 root:pktpit", "640 root:pktpit"]
    configure(machine)
    assert pktpit(machine, "check", "/etc/pktpit/pktpit.json").returncode == 0

    def start():
        log = open(machine.place / "daemon.log", "ab")
        daemon = machine.start("pktpitd", "--config", "/etc/pktpit/pktpit.json", "--user", "pktpit", stdout=log, stderr=log)
        wait_for(lambda: version(machine), "the daemon answers")
        return daemon

    start()
    crosses(machine)
    running = stream(machine.a, machine.b)
    first = version(machine)["pid"]
    machine.install(next_packages["pktpit"])
    assert version(machine)["pid"] == first and installed_version(machine).endswith(NEXT)
    machine.kill("USR2", first)
    wait_for(lambda: version(machine) is None, "the daemon has ended")
    running.flows_again(5000)
    start()
    running.flows_again(5000)
    assert_nothing_lost(running.finish())

    # A daemon that has been killed leaves what forwards; the package's end takes that down.
    machine.kill("KILL", version(machine)["pid"])
    assert stage(machine)
    told = machine.apt("remove", "pktpit").stdout
    assert stage(machine) is None and not machine.path("/sys/fs/bpf/pktpit").exists(), told
    machine.apt("purge", "pktpit")
    assert machine.files() - before == set() and machine.users() == users


@requirement("pktpit-dpdk: without it \"dataplane\": \"dpdk\" is refused by the name of the package, with it the same configuration routes")
def test_dpdk_is_a_package_of_its_own(machine, packages):
    machine.begin(systemd=False)
    machine.install(packages["pktpit"])
    interfaces = {name: {"device": f"net_null{index}", "addresses": [f"192.0.{index + 2}.1/24"]} for index, name in enumerate(("wan", "lan"))}
    machine.path("/etc/pktpit/pktpit.json").write_text(json.dumps(
        {"dataplane": "dpdk", "dpdk": {"memory": "pages", "mbufs": 8191}, "workers": {"count": 1}, "interfaces": interfaces}))
    refused = machine.run("pktpitd", "--config", "/etc/pktpit/pktpit.json", check=False, timeout=120)
    assert refused.returncode == 1 and "install the package pktpit-dpdk" in refused.stderr and "/dataplane" in refused.stderr, refused.stderr
    assert "/usr/lib/pktpit/dataplane-dpdk.so" in refused.stderr

    machine.install(packages["pktpit-dpdk"])
    log = open(machine.place / "daemon.log", "wb")
    daemon = machine.start("pktpitd", "--config", "/etc/pktpit/pktpit.json", stdout=log, stderr=log)
    try:
        wait_for(lambda: version(machine), "the daemon answers", interval=0.1)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{(machine.place / 'daemon.log').read_text()}") from error
    ports = json.loads(pktpit(machine, "show", "ports", "--json").stdout)["ports"]
    assert {port["name"] for port in ports} == {"wan", "lan"}
    machine.kill("TERM", version(machine)["pid"])
    assert daemon.wait(120) == 0


@requirement("pktpit-bench: `pktpit bench` finds its programs there, and says which package has them where it is missing")
def test_bench_is_a_package_of_its_own(machine, packages):
    machine.begin(systemd=False)
    machine.install(packages["pktpit"])
    missing = pktpit(machine, "bench", "fib", "--help", check=False)
    assert missing.returncode == 2 and "install the package pktpit-bench" in missing.stderr
    machine.install(packages["pktpit-bench"], packages["libpktpit-allreduce0"])
    for name in ("wire", "cpu", "fib", "rfc2544", "allreduce"):
        assert pktpit(machine, "bench", name, "--help", check=False).returncode == 0, name


@requirement("man pages: no warning of man, each verb and each option of the programs, each key of the schema")
def test_man_pages(packages, tmp_path):
    run("dpkg-deb", "-x", packages["pktpit"], tmp_path)
    pages = {}
    for file in sorted((tmp_path / "usr/share/man").rglob("*.gz")):
        printed = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", file], capture_output=True, text=True, check=True,
                                 env={"PATH": "/usr/bin:/bin", "MANWIDTH": "500", "LANG": "C.UTF-8"})
        assert not printed.stderr, printed.stderr
        pages[file.name] = re.sub(".\b", "", printed.stdout)
    assert set(pages) == {"pktpit.1.gz", "pktpitd.8.gz", "pktpit.json.5.gz"}
    for words in ((), ("show",), ("route",), ("table",), ("model",)):
        helped = run(tmp_path / "usr/bin/pktpit", *words, "--help").stdout
        verbs = re.findall(r"^  ([a-z-]+)", helped.split("Subcommands:")[1], re.M)
        assert len(verbs) > 1 and all(" ".join(("pktpit", *words, verb)) in pages["pktpit.1.gz"] for verb in verbs), verbs
    options = re.findall(r"--[a-z]+", run(tmp_path / "usr/sbin/pktpitd", "--help").stdout)
    assert len(options) > 5 and all(option in pages["pktpitd.8.gz"] for option in options)
    schema = json.loads((ROOT / "config" / "schema.json").read_text())
    for key in schema["properties"]:
        assert re.search(rf"^ +{re.escape(key)} \(", pages["pktpit.json.5.gz"], re.M), key
    for key in schema["definitions"]["interface"]["properties"]:
        assert f"interfaces.NAME.{key}" in pages["pktpit.json.5.gz"], key


