# SPDX-License-Identifier: BSD-3-Clause
"""Debian's chromium without a screen, inside a namespace, led by the DevTools protocol over two pipes."""

import base64
import contextlib
import json
import os
import select
import time

from lib.namespaces import end
from lib.waiting import PATIENCE, wait_for

# No sandbox: a root user's has none. The rest keeps it from asking anybody anything.
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
         "--disable-domain-reliability", "--no-pings", "--metrics-recording-only", "--remote-debugging-pipe", "--hide-scrollbars")


class Browser:
    """One page. `complaints`: errors of scripts, refusals of the content security policy, failed requests; `asked`: URLs."""

    def __init__(self, namespace, directory):
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        self.complaints, self.asked = [], []
        self._next, self._answers, self._buffer = 0, {}, b""

        with open(directory / "chromium.log", "wb") as log:
            # The protocol's ends are descriptors 3 and 4.
            self.process = namespace.start(
                "bash", "-c", f'exec 3<&{to_browser} 4>&{from_browser}; exec chromium "$@"', "chromium", *FLAGS, f"--user-data-dir={directory}/profile",
                "about:blank", stdout=log, stderr=log, pass_fds=(to_browser, from_browser),
                env={**os.environ, "HOME": str(directory), "XDG_CONFIG_HOME": str(directory), "XDG_CACHE_HOME": str(directory)})
        os.close(to_browser)
        os.close(from_browser)
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        with contextlib.suppress(OSError):
            os.close(self._write)
        os.close(self._read)
        end(self.process)

    def call(self, method, deadline=60, **parameters):
        self._next += 1
        number = self._next
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + deadline * PATIENCE
        while number not in self._answers:
            assert self._take(until - time.monotonic()), f"no answer to {method}"
        answer = self._answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _take(self, patience):
        """What the browser says next; false: nothing."""
        if not select.select([self._read], [], [], max(0, patience))[0]:
            return False
        got = os.read(self._read, 1 << 20)
        assert got, "the browser has ended"
        *messages, self._buffer = (self._buffer + got).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self._heard(message["method"], message.get("params", {}))
        return True

    def _heard(self, event, told):
        if event == "Runtime.exceptionThrown":
            self.complaints.append(told["exceptionDetails"].get("exception", {}).get("description") or str(told))
        elif event == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")
        elif event == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])

    def go(self, url):
        self.call("Page.navigate", url=url)
        wait_for(lambda: self.js("document.readyState") == "complete", f"{url} is loaded")

    def js(self, expression):
        """An expression's value, in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def text(self, selector):
        return self.js(f"(document.querySelector({json.dumps(selector)}) || {{}}).innerText || ''")

    def type(self, selector, text):
        """As a person does: the field is focused, emptied, typed into, and Enter pressed."""
        self.js(f"(() => {{ const field = document.querySelector({json.dumps(selector)}); field.focus(); field.select(); }})()")
        self.call("Input.insertText", text=text)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")

    def look_like(self, width, height=900, dark=False, phone=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def screenshot(self, path):
        """Of the whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        path.write_bytes(base64.b64decode(shot["data"]))
