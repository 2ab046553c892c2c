"""larder top --serve: who may ask, and what is answered; requests that browsers
do not make."""

import glob
import json
import os
import re
import signal
import socket
import subprocess
import time
import unittest
import urllib.request

import lab_case

from larder._live import Live

LARDER = os.path.join(os.environ.get("LARDER_LIBRARY_DIR", "build"), "larder")
SNAPSHOT = os.path.join(
    os.path.dirname(lab_case.HERE), "data", "snapshots", "v2.8.pickle"
)


def remove_shared(name):
    for path in glob.glob(f"/dev/shm/larder-sim*-{name}.0"):
        os.remove(path)


def serve(test, option="--serve", **more):
    """A server for one test, and its address; "": it has ended."""
    process = subprocess.Popen(
        [LARDER, "top", option],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="ascii",
        **more,
    )
    test.addCleanup(process.stdout.close)
    test.addCleanup(process.wait)
    test.addCleanup(process.kill)
    return process, process.stdout.readline().strip()


class Served(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.process = subprocess.Popen(
            [LARDER, "top", "--serve", "--period", "100"],
            stdout=subprocess.PIPE,
            encoding="ascii",
        )
        cls.address = cls.process.stdout.readline().strip()
        cls.port, cls.token = re.fullmatch(
            r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", cls.address
        ).groups()

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        cls.process.wait()
        cls.process.stdout.close()

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", int(self.port)))
        self.addCleanup(connection.close)
        connection.settimeout(30)
        return connection

    @staticmethod
    def all_of(connection):
        said = b""
        while piece := connection.recv(1 << 16):
            said += piece
        return said

    def raw(self, request):
        """The status and the body of the answer to these bytes."""
        connection = self.connect()
        connection.sendall(request)
        head, _, body = self.all_of(connection).partition(b"\r\n\r\n")
        self.head = head.decode("ascii")
        return int(self.head.split(" ", 2)[1]), body

    def get(self, what="", token=None, host=None, method="GET", more=""):
        path = f"/{self.token if token is None else token}/{what}"
        host = f"127.0.0.1:{self.port}" if host is None else host
        return self.raw(
            f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode()
        )

    def data(self, after=0):
        status, body = self.get(f"data?after={after}")
        self.assertEqual(status, 200)
        return json.loads(body)

    def test_the_page_is_there_and_keeps_its_address_to_itself(self):
        status, body = self.get()
        self.assertEqual(status, 200)
        self.assertIn(b"<!doctype html>", body)
        for line in (
            "Referrer-Policy: no-referrer",
            "Cache-Control: no-store",
            "Content-Security-Policy: default-src 'none';",
            f"Content-Length: {len(body)}",
        ):
            self.assertIn(f"\r\n{line}", self.head)
        for name in ("page.js", "page.css"):
            self.assertEqual(self.get(name)[0], 200)
        self.assertEqual(self.get(host=f"LOCALHOST:{self.port}")[0], 200)

    def test_who_does_not_know_the_token_gets_nothing(self):
        wrong = "0" * 32
        shorter, longer = self.token[:-1], self.token + "0"
        last = self.token[:-1] + ("0" if self.token[-1] != "0" else "1")
        for token in (wrong, shorter, longer, last, "", "%00", "../x"):
            status, body = self.get("data?after=0", token=token)
            self.assertEqual((status, body), (404, b"no\n"), token)
        self.assertEqual(self.raw(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")[0], 403)

    def test_another_name_for_this_machine_is_refused(self):
        for host in (
            "evil.example",
            f"evil.example:{self.port}",
            "127.0.0.1",
            f"127.0.0.1:{self.port}.evil.example",
            f"127.0.0.1:{int(self.port) ^ 1}",
            f"[::1]:{self.port}",
            "",
        ):
            self.assertEqual(self.get(host=host)[0], 403, host)
        ours = f"Host: 127.0.0.1:{self.port}\r\n"
        self.assertEqual(self.get(more="Host: evil.example\r\n")[0], 403)
        self.assertEqual(self.get(more=ours)[0], 400)
        request = f"GET /{self.token}/ HTTP/1.1\r\n\r\n".encode()
        self.assertEqual(self.raw(request)[0], 400)

    def test_what_is_not_asked_for_as_it_should_be_is_refused(self):
        for method in ("POST", "PUT", "OPTIONS", "HEAD", "get"):
            self.assertEqual(self.get(method=method)[0], 405, method)
        for what in (
            "x", "data", "data?after=", "data?after=-1", "data?after=1x",
            "data?after=%31", "recorded/", "recorded/x", "recorded/1/..",
            "../../etc/passwd", "page.js/", "x" * 200,
        ):
            self.assertEqual(self.get(what)[0], 404, what)
        for request in (
            b"\r\n\r\n",
            b"GET\r\n\r\n",
            b"GET /\r\n\r\n",
            b"GET / FTP/1.1\r\n\r\n",
            b"GET /\0 HTTP/1.1\r\n\r\n",
            b"\xff" * 100 + b"\r\n\r\n",
        ):
            self.assertEqual(self.raw(request)[0], 400, request)

    def test_requests_that_are_too_large_are_refused(self):
        for size in (9000, 60000):
            self.assertEqual(self.get(more="X: " + "x" * size)[0], 431)
        # Without an end, too.
        connection = self.connect()
        connection.sendall(b"x" * 8192)
        self.assertIn(b" 431 ", self.all_of(connection))

    def test_a_body_does_not_lose_the_answer(self):
        size = 300000
        length = f"Content-Length: {size}\r\n"
        for what in ("", "data?after=0"):
            for method, status in (("POST", 405), ("GET", 200)):
                request = (
                    f"{method} /{self.token}/{what} HTTP/1.1\r\n"
                    f"Host: 127.0.0.1:{self.port}\r\n{length}\r\n"
                )
                said = self.raw(request.encode() + b"x" * size)
                self.assertEqual(said[0], status)

    def test_those_who_ask_slowly_or_not_at_all_keep_nobody_waiting(self):
        silent = [self.connect() for _ in range(8)]
        silent[0].sendall(b"GET ")
        begun = time.monotonic()
        self.assertEqual(self.get()[0], 200)
        self.assertLess(time.monotonic() - begun, 3)
        # They are dropped after two seconds.
        for connection in silent:
            self.assertEqual(connection.recv(1), b"")
        self.assertLess(time.monotonic() - begun, 20)

    def test_it_listens_to_this_machine_alone(self):
        with open("/proc/net/tcp", encoding="ascii") as file:
            listening = [line.split()[1] for line in file if " 0A " in line]
        ours = [a for a in listening if a.endswith(f":{int(self.port):04X}")]
        self.assertEqual(ours, [f"0100007F:{int(self.port):04X}"])

    def test_looks_come_once_each_and_in_order(self):
        first = self.data()
        self.assertEqual(first["period_ms"], 100)
        numbers = [look["n"] for look in first["looks"]]
        there = range(numbers[0], numbers[0] + len(numbers))
        self.assertEqual(numbers, list(there))
        later, until = [], time.monotonic() + 30
        while not later and time.monotonic() < until:
            time.sleep(0.1)
            later = self.data(numbers[-1])["looks"]
        self.assertEqual(later[0]["n"], numbers[-1] + 1)
        self.assertEqual(self.data(10**17)["looks"], [])

    def test_a_process_that_holds_memory_is_in_them(self):
        name = f"serve-{os.getpid()}"
        # What a prompt that ends with tensors leaves.
        self.addCleanup(remove_shared, name)
        device = f"sim:8GiB,backing=none,shared={name}"
        lab = subprocess.Popen(
            [LARDER, "lab", "--device", device],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            encoding="ascii",
        )
        self.addCleanup(lab.wait)
        self.addCleanup(lab.stdin.close)
        lab.stdin.write("a = zeros(24, 1024, 1024, device=cuda)\n")
        lab.stdin.flush()
        held, until = None, time.monotonic() + 30
        while held is None and time.monotonic() < until:
            for one in self.data()["looks"][-1]["devices"]:
                for process in one["processes"]:
                    if process["pid"] == lab.pid and process["held_bytes"]:
                        held = process["held_bytes"]
            time.sleep(0.1)
        self.assertGreaterEqual(held, 96 << 20)

        other = subprocess.Popen(
            [LARDER, "top", "--serve", "--filter", "no-such-process"],
            stdout=subprocess.PIPE,
            encoding="ascii",
        )
        self.addCleanup(other.stdout.close)
        self.addCleanup(other.wait)
        self.addCleanup(other.terminate)
        address = other.stdout.readline().strip()
        with urllib.request.urlopen(f"{address}data?after=0") as answer:
            devices = json.load(answer)["looks"][0]["devices"]
        self.assertNotEqual(devices, [])
        self.assertEqual(sum(len(d["processes"]) for d in devices), 0)

    # ---- programs that are recorded ----

    @staticmethod
    def end(live):
        """Its thread waits for one more."""
        live.close()
        with socket.socket(socket.AF_UNIX) as last:
            last.connect_ex(f"\0larder-live-{os.getuid()}-{os.getpid()}")
        live.thread.join()

    def test_a_recorded_program_has_a_page(self):
        with open(SNAPSHOT, "rb") as file:
            snapshot = file.read()
        self.addCleanup(self.end, Live(lambda: snapshot))
        mine = [r for r in self.data()["recorded"] if r["pid"] == os.getpid()]
        self.assertEqual(len(mine), 1)
        self.assertIn("test_top_serve.py", mine[0]["name"])
        status, body = self.get(f"recorded/{os.getpid()}")
        self.assertEqual(status, 200)
        self.assertIn(b"script-src 'sha256-", body)
        self.assertIn(b"larder-data", body)
        self.assertIn("Policy: frame-ancestors 'self'", self.head)

    def test_what_is_no_snapshot_is_told(self):
        for sent in (b"", b"no snapshot", b"\x80\x04."):
            live = Live(lambda sent=sent: sent)
            status, body = self.get(f"recorded/{os.getpid()}")
            self.assertEqual(status, 503, sent)
            self.assertNotEqual(body, b"")
            self.assertNotIn(b"/proc/", body)
            self.end(live)
        self.assertEqual(self.get("recorded/1")[0], 503)
        self.assertEqual(self.get()[0], 200)


    def as_nobody(self, code):
        """A program of another user's."""
        if os.getuid() != 0:
            self.skipTest("another user's program: only root can run one")
        process = subprocess.Popen(
            ["/usr/bin/env", "python3", "-c", code, str(os.getpid())],
            user=65534,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PATH": os.defpath},
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)
        return process

    def test_another_user_reads_nothing(self):
        self.addCleanup(self.end, Live(lambda: b"secret"))
        process = self.as_nobody(
            "import socket, sys\n"
            "with socket.socket(socket.AF_UNIX) as s:\n"
            "    s.connect('\\0larder-live-0-' + sys.argv[1])\n"
            "    print(s.recv(100))\n"
        )
        self.assertEqual(process.stdout.read(), b"b''\n")

    def test_nothing_of_another_user_is_shown(self):
        process = self.as_nobody(
            "import contextlib, os, socket, sys\n"
            "with socket.socket(socket.AF_UNIX) as s:\n"
            "    s.bind(f'\\0larder-live-0-{os.getpid()}')\n"
            "    s.listen()\n"
            "    print(os.getpid(), flush=True)\n"
            "    s.settimeout(20)\n"
            f"    snapshot = open({SNAPSHOT!r}, 'rb').read()\n"
            "    with contextlib.suppress(OSError):  # it was not wanted\n"
            "        s.accept()[0].sendall(snapshot)\n"
        )
        pid = int(process.stdout.readline())
        self.assertNotIn(pid, [r["pid"] for r in self.data()["recorded"]])
        status, body = self.get(f"recorded/{pid}")
        self.assertEqual(status, 503)
        self.assertIn(b"no longer records", body)


class Refused(unittest.TestCase):
    def test_a_page_and_a_table_at_once(self):
        for word in ("--once", "--json"):
            run = subprocess.run(
                [LARDER, "top", "--serve", word],
                capture_output=True,
                encoding="ascii",
                timeout=30,
                check=False,
            )
            self.assertEqual(run.returncode, 2)
            self.assertIn(f"--serve with {word}", run.stderr)

    def test_a_port_that_cannot_be_had(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            for word, why in (
                (str(port), f"port {port} of 127.0.0.1: Address already"),
                ("0", "not a number from 1 to 65535"),
                ("x", "not a number"),
            ):
                run = subprocess.run(
                    [LARDER, "top", f"--serve={word}"],
                    capture_output=True,
                    encoding="ascii",
                    timeout=30,
                    check=False,
                )
                self.assertEqual(run.returncode, 2)
                self.assertIn(why, run.stderr)

    def test_it_ends_with_a_signal(self):
        process, address = serve(self)
        self.assertNotEqual(address, "")
        process.terminate()
        self.assertEqual(process.wait(30), -signal.SIGTERM)


class Inherited(unittest.TestCase):
    """What a parent ignores or blocks, as nohup and some supervisors do."""

    def answers_all(self, prepare):
        _, address = serve(self, preexec_fn=prepare)
        port = int(address.split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port)) as silent:
            # More than are answered at once.
            for _ in range(70):
                with urllib.request.urlopen(address, timeout=30) as answer:
                    self.assertEqual(answer.status, 200)
            silent.settimeout(30)
            self.assertEqual(silent.recv(1), b"")

    def test_signals_that_are_ignored(self):
        def ignore():
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.signal(signal.SIGALRM, signal.SIG_IGN)

        self.answers_all(ignore)

    def test_signals_that_are_blocked(self):
        both = (signal.SIGCHLD, signal.SIGALRM)
        self.answers_all(
            lambda: signal.pthread_sigmask(signal.SIG_BLOCK, both)
        )


class PortOfHttp(unittest.TestCase):
    def test_browsers_leave_it_out(self):
        _, address = serve(self, "--serve=80")
        if address == "":
            self.skipTest("port 80 cannot be had")
        path = address.split("/", 3)[3]
        for host, status in (
            ("127.0.0.1", 200),
            ("localhost", 200),
            ("127.0.0.1:80", 200),
            ("127.0.0.1:", 403),
            ("127.0.0.1.evil.example", 403),
            ("evil.example", 403),
        ):
            with socket.create_connection(("127.0.0.1", 80)) as connection:
                connection.settimeout(30)
                connection.sendall(
                    f"GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
                )
                said = Served.all_of(connection)
            self.assertIn(f"HTTP/1.1 {status} ".encode(), said, host)


if __name__ == "__main__":
    lab_case.main()
