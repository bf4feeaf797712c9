#!/usr/bin/env python3
"""The page that the endpoint serves, in headless Chromium, over a real database and real processes.

  page_test.py SOURCE_DIR BUILD_DIR [--pictures FOLDER]

With --pictures it writes the pictures of docs/page.md into the folder, and tests nothing. Every wait is for a
condition; a wait that lasts a minute is a failure.
"""

import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

try:
    from selenium import webdriver
    from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    # Debian's module belongs to Debian's interpreter.
    if os.path.realpath(sys.executable) == os.path.realpath("/usr/bin/python3"):
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

SOURCE, BUILD = sys.argv[1:3]
PICTURES = sys.argv[4] if sys.argv[3:4] == ["--pictures"] else None
PROGRAM = os.path.join(BUILD, "test", "e2e", "page_program")
SCRATCH = os.path.join(BUILD, "test", "e2e", "page.scratch")
ERRORS = os.environ["PAWL_TEST_ERRORS"] = os.path.join(SCRATCH, "errors")  # of page_program
TOKEN = "a-token-for-the-page-test"
SIZE_MAX = 80 * 1024  # compressed
HOSTILE = "<img src=x onerror=window.hit=1>"
SCRIPT = "</script><script>window.hit=1</script>"
TURNED = "\u202egnp.exe \u2066\x1b[31m\x00\u200b&lt;b&gt;"


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def wait_for(what, condition, seconds=60):
    """Answers the first true value of the condition."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            value = condition()
        except (StaleElementReferenceException, ConnectionError):
            value = None
        if value:
            return value
        expect(time.monotonic() < deadline, f"it never came: {what}")
        time.sleep(0.05)


# ---- the processes ----


class Plant:
    """A worker with the endpoint, and others beside it."""

    def __init__(self):
        shutil.rmtree(SCRATCH, ignore_errors=True)
        os.makedirs(SCRATCH)
        self.database = os.path.join(SCRATCH, "page.db")
        self.token_file = os.path.join(SCRATCH, "token")
        with open(self.token_file, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(TOKEN + "\n")
        self.port = 0
        self.workers = {}

    def serve(self, *arguments):
        """On the same port again, if it had one."""
        worker = subprocess.Popen([PROGRAM, self.database, "plant-1", str(self.port), self.token_file, *arguments],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.workers["plant-1"] = worker
        port = worker.stdout.readline()
        expect(port.strip(), "the endpoint did not start")
        self.port = int(port)
        wait_for("the runtime", self.is_ready)

    def is_ready(self):
        try:
            with urllib.request.urlopen(self.url("ready"), timeout=30) as answer:
                return json.load(answer)["ready"]
        except urllib.error.HTTPError:
            return False

    def work(self, node):
        self.workers[node] = subprocess.Popen([PROGRAM, self.database, node], stdin=subprocess.DEVNULL)

    def kill(self, node):
        worker = self.workers.pop(node)
        worker.kill()
        worker.wait()

    def stop(self):
        for node in list(self.workers):
            self.kill(node)

    def url(self, path=""):
        return f"http://127.0.0.1:{self.port}/{path}"

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.url(path), data=body, method=method, headers={
            "Authorization": f"Bearer {TOKEN}", "X-Pawl-Request": "test", "Content-Type": "application/octet-stream"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from error

    def start(self, name, instance, payload=b""):
        self.call("POST", f"v1/instances?name={quoted(name)}&id={quoted(instance)}", payload)

    def instance(self, instance):
        return self.call("GET", f"v1/instances/{quoted(instance)}")

    def wait_state(self, instance, state):
        wait_for(f"{instance} {state}", lambda: self.instance(instance)["status"]["state"] == state)

    def wait_event(self, instance, kind, times=1):
        def seen():
            if not self.instance(instance)["executions"]:
                return False
            page = self.call("GET", f"v1/instances/{quoted(instance)}/history?limit=200")
            return sum(event["kind"] == kind for event in page["events"]) >= times
        wait_for(f"{kind} of {instance}", seen)

    def session(self, name):
        return next((one for one in self.call("GET", "v1/sessions")["sessions"] if one.get("name") == name), {})


def quoted(text):
    return urllib.parse.quote(text, safe="")


# ---- the browser ----


class Browser:
    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "chromium"
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                         f"--user-data-dir={os.path.join(SCRATCH, 'profile')}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver") or "chromedriver"), options=options)
        # Before any script of the page: what breaks the policy is kept, and the flag that no payload may set.
        self.command("Page.addScriptToEvaluateOnNewDocument", source="""
          window.hit = 0; window.broken = [];
          document.addEventListener('securitypolicyviolation', (event) => window.broken.push(event.violatedDirective));""")
        self.resize(1400, 900)
        self.expected_errors = ()

    def command(self, name, **parameters):
        return self.driver.execute_cdp_cmd(name, parameters)

    def resize(self, width, height, scheme="light"):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector, text=None):
        """The first that is shown, with this text if one is given."""
        def found():
            for element in self.all(selector):
                if element.is_displayed() and (text is None or text in element.text):
                    return element
            return None
        return wait_for(f"{selector} {text or ''}", found)

    def body(self):
        return self.driver.find_element(By.TAG_NAME, "body").text

    def wait_text(self, text, selector="body"):
        def found():
            return any(text in (element.text or "") for element in self.all(selector))
        try:
            wait_for(text, found)
        except AssertionError:
            print(self.body()[:3000])
            raise

    def click(self, selector, text=None):
        def clicked():
            try:
                self.one(selector, text).click()
                return True
            except WebDriverException:
                return False
        wait_for(f"click on {selector} {text or ''}", clicked)

    def type(self, selector, text):
        field = self.one(selector)
        field.clear()
        field.send_keys(text)

    def confirm(self):
        self.click("dialog[open] button.main")
        wait_for("the dialog closes", lambda: not self.all("dialog[open]"))

    def go(self, address):
        self.script("location.hash = arguments[0]", address)

    def rows(self, label):
        return self.all(f'table[aria-label="{label}"] tbody tr')

    def check_clean(self):
        """Nothing was executed, no policy was broken, and the console has no error but those that were provoked."""
        expect(self.script("return window.hit") == 0, "a payload was executed")
        expect(self.script("return window.broken") == [], f"policy: {self.script('return window.broken')}")
        for line in self.driver.get_log("browser"):
            if not any(text in line["message"] for text in self.expected_errors):
                expect(line["level"] not in ("SEVERE", "WARNING"), f"console: {line}")


# ---- the tests ----


def test_size():
    folder = os.path.join(SOURCE, "src", "parts", "endpoint", "page")
    expect(sorted(os.listdir(folder)) == ["index.html", "page.css", "page.js"], os.listdir(folder))
    size = sum(len(gzip.compress(pathlib.Path(folder, name).read_bytes())) for name in os.listdir(folder))
    expect(size < SIZE_MAX, f"the page has {size} bytes, compressed")
    with open(os.path.join(folder, "page.js"), encoding="utf-8") as file:
        text = file.read()
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "localStorage"):
        expect(word not in text, f"page.js uses {word}")


def test_sign_in(plant, browser):
    """Every load without a token asks for it; a wrong one is refused; the right one stays in this tab only."""
    browser.expected_errors = ("401",)
    browser.driver.get(plant.url())
    for token in ("wrong-token-of-16-bytes", TOKEN):
        browser.type("dialog[open] input[name=token]", token)
        browser.click("dialog[open] button.main")
        if token != TOKEN:
            browser.wait_text("A token is needed", "#link")
            wait_for("asked again", lambda: browser.all("dialog[open] input[name=token]") and
                     browser.script("return document.querySelector('dialog input').value") == "")
    browser.wait_text("Live", "#link")
    expect(browser.script("return [sessionStorage.getItem('pawl.token'), localStorage.length, document.cookie]") ==
           [TOKEN, 0, ""], "the token is somewhere else")
    browser.check_clean()
    browser.expected_errors = ()


def test_live_update(plant, browser):
    """An instance that is started while the page is open appears, and ends."""
    browser.wait_text("No instances yet")
    plant.start("order", "order-1", b"for ann")
    browser.wait_text("order-1", 'table[aria-label="Instances"]')
    browser.wait_text("running", 'table[aria-label="Instances"] tr')
    browser.click('table[aria-label="Instances"] a', "order-1")
    browser.wait_text("waits for approval", 'table[aria-label="Values"]')
    browser.wait_text("reserved", ".outcome")
    for label in ("order", "echo", "timer of 300 ms", "print label", "decline", "child quick", "event approval",
                  "session open press", "sets progress", "status: reserved"):
        browser.wait_text(label, ".lanes .lane text")
    browser.wait_text("failed: application", ".lanes .lane text")
    browser.wait_text("open for", ".lanes .lane text")
    browser.wait_text("approval", ".causes .event + .mono")
    browser.wait_text("Raise the event.", ".causes p")


def test_actions(plant, browser):
    """An operator suspends, resumes, raises; each with a confirmation that may be left."""
    browser.click("button", "Suspend")
    browser.click("dialog[open] button", "Cancel")
    wait_for("the dialog closes", lambda: not browser.all("dialog[open]"))
    expect(plant.instance("order-1")["status"]["state"] == "running", "it was suspended without a yes")
    browser.click("button", "Suspend")
    browser.confirm()
    browser.wait_text("suspended", "h1 + .badge")
    expect(plant.instance("order-1")["status"]["state"] == "suspended", "the page alone says so")
    browser.wait_text("Resume it.", ".causes p")
    browser.click("button", "Resume")
    browser.confirm()
    browser.wait_text("running", "h1 + .badge")
    browser.click("button", "Raise event")
    browser.type("dialog[open] input[name=name]", "approval")
    browser.type("dialog[open] textarea", SCRIPT)
    browser.confirm()
    browser.wait_text("completed", "h1 + .badge")
    browser.wait_text(SCRIPT, ".outcome pre")
    wait_for("nothing to wait for", lambda: not [one for one in browser.all(".causes") if one.is_displayed()])
    plant.start("holder", "to-cancel")
    browser.go("#/instance/to-cancel")
    browser.click("button.danger", "Cancel")
    browser.type("dialog[open] input[name=reason]", "no longer wanted")
    browser.confirm()
    browser.wait_text("failed", "h1 + .badge")
    browser.wait_text("no longer wanted", 'table[aria-label="Events"]')
    browser.check_clean()


def test_timeline(plant, browser):
    """Zoom, order, kinds, a chosen event; and the keyboard reaches each event."""
    browser.go("#/instance/order-1")
    browser.wait_text("order-1", "h1")
    lanes = browser.one(".lanes")
    wait_for("the drawing", lambda: len(browser.all(".lane")) > 8)
    def axis():
        # In one call, since the page may draw anew between two.
        return browser.script("return [...document.querySelectorAll('.axis text')].map(one => one.textContent)")
    whole = axis()
    browser.click("button[aria-label='Zoom in']")
    wait_for("another axis", lambda: axis() != whole)
    lanes.send_keys("0")
    wait_for("all of it", lambda: axis() == whole)
    shown = len(browser.all(".lane"))
    browser.click(".legend button", "timers")
    wait_for("timers hidden", lambda: len(browser.all(".lane")) == shown - 2)
    browser.click(".legend button", "timers")
    wait_for("timers shown", lambda: len(browser.all(".lane")) == shown)
    first = browser.rows("Events")[1].find_element(By.TAG_NAME, "button")
    first.send_keys(Keys.ENTER)
    browser.wait_text("three boxes", ".detail pre")
    browser.wait_text("shelf", ".detail")
    expect(browser.script("return document.activeElement.textContent") == "#2", "the focus went")
    browser.wait_text("order-1::1.", 'table[aria-label="Children"]')
    browser.wait_text("press", 'table[aria-label="Sessions of this instance"], table[aria-label="Events"]')
    browser.click('table[aria-label="Children"] a')
    browser.wait_text("order-1::1.", "h1")
    browser.click("dd a", "order-1")
    wait_for("the parent", lambda: browser.one("h1").text == "order-1")
    plant.start("rounds", "rounds-1", b"again")
    plant.wait_state("rounds-1", "completed")
    browser.go("#/instance/rounds-1")
    browser.wait_text("continued as new", ".tabs")
    browser.click(".tabs button", "1")
    browser.wait_text("continued as new", ".lanes .lane text")
    browser.check_clean()


def test_hostile(plant, browser):
    """Texts of others are shown as text, whatever they hold: as id, name, payload, value, event, session."""
    payload = (SCRIPT + HOSTILE + TURNED).encode() + b"x" * 60_000 + b"THE END"
    plant.start("hostile", HOSTILE, payload)
    plant.start("hostile", "bytes", b"\xff\xfe\x80 raw \xe2\x80")
    plant.start(HOSTILE, "by-name \u05d0\u05d1 &amp; 'a'", b"")
    for instance in (HOSTILE, "bytes"):
        plant.wait_event(instance, "wait")
    browser.go("#/instances?id_prefix=" + quoted("<img"))
    browser.wait_text(HOSTILE, 'table[aria-label="Instances"]')
    browser.go("#/instances?name=" + quoted(HOSTILE))
    browser.wait_text("by-name \u05d0\u05d1 &amp; 'a'", 'table[aria-label="Instances"]')
    browser.go("#/instances")
    browser.click('table[aria-label="Instances"] a', HOSTILE)
    wait_for("the hostile one", lambda: browser.one("h1").text == HOSTILE)
    browser.wait_text(SCRIPT, ".outcome pre")
    browser.wait_text("\\u202egnp.exe \\u2066\\u001b[31m\\u0000\\u200b&lt;b&gt;", ".outcome pre")
    browser.wait_text(f"event {HOSTILE}", ".lanes text")
    browser.wait_text(HOSTILE, 'table[aria-label="Values"]')
    browser.rows("Events")[0].find_element(By.TAG_NAME, "button").click()
    browser.click(".detail button", "Show all")
    browser.wait_text("THE END", ".detail pre")
    lane = browser.all(".lane")[0]
    webdriver.ActionChains(browser.driver).move_to_element(lane).perform()
    browser.wait_text("hostile", "#tip")
    plant.call("POST", f"v1/instances/{quoted(HOSTILE)}/events/{quoted(HOSTILE)}", payload)
    browser.wait_text("failed", "h1 + .badge")
    browser.wait_text(SCRIPT, ".outcome pre")
    browser.go("#/instance/bytes")
    browser.wait_text("\\xff\\xfe\\x80 raw \\xe2\\x80", ".outcome pre")
    browser.go("#/sessions")
    browser.wait_text(HOSTILE, ".worker table")
    expect(browser.script("return document.querySelectorAll('main img, main script').length") == 0, "markup was made")
    browser.check_clean()


def test_sessions(plant, browser):
    """Sessions by worker; a session moves, a worker that owns one is killed, another is drained."""
    plant.start("holder", "holder-1")
    wait_for("crane is owned", lambda: plant.session("crane").get("node"))
    plant.work("plant-2")
    browser.go("#/sessions")
    browser.wait_text("plant-2", ".worker h2")
    browser.wait_text("crane", ".worker table")
    plant.call("POST", "v1/sessions/crane/transfer?node=plant-2&stop_timeout_ms=0&force=true")
    wait_for("crane at plant-2", lambda: plant.session("crane").get("node") == "plant-2")
    browser.wait_text("plant-2", 'table[aria-label="Moves"]')
    wait_for("it runs there", lambda: any(one.get("node") == "plant-2" for one in plant.instance("holder-1")["activities"]))
    plant.kill("plant-2")
    wait_for("crane is back", lambda: plant.session("crane").get("node") == "plant-1")
    wait_for("two moves", lambda: len(browser.rows("Moves")) == 2)
    browser.go("#/instance/holder-1")
    browser.wait_text("handed over again", ".lanes text")
    browser.go("#/sessions")
    browser.click(".worker button", "Drain")
    browser.confirm()
    browser.wait_text("draining", ".worker .badge")
    browser.click(".worker button", "Undrain")
    browser.confirm()
    browser.wait_text("serving", ".worker .badge")
    with open(plant.database + "-go", "w", encoding="ascii"):
        pass
    plant.wait_state("holder-1", "completed")
    browser.check_clean()


def test_thousand(plant, browser, count=1000):
    """The table has a page of rows, whatever there is; pages, the newest, filters."""
    for number in range(count):
        plant.start("quick", f"batch-{number:04d}", b"x")
    plant.wait_state(f"batch-{count - 1:04d}", "completed")
    browser.go("#/instances")
    wait_for("a full page", lambda: len(browser.rows("Instances")) == 100)
    for page in (2, 3):
        browser.click("button", "Next")
        browser.wait_text(f"Page {page} ", "#place")
        wait_for("a full page", lambda: len(browser.rows("Instances")) == 100)
    browser.click("button", "Previous")
    browser.wait_text("Page 2 ", "#place")
    browser.click("button", "Newest")
    browser.wait_text(f"batch-{count - 1:04d}", 'table[aria-label="Instances"]')
    expect(len(browser.rows("Instances")) <= 100, "a page has more rows than it should")
    browser.type("input[aria-label='Id begins with']", "batch-000")
    wait_for("ten rows", lambda: len(browser.rows("Instances")) == 10)
    # The newest of those that pass the filter, though others came later: a full page that ends with the last of them.
    for number in range(5):
        plant.start("quick", f"later-{number}", b"x")
    browser.go("#/rates")
    browser.go("#/instances?id_prefix=batch-0")
    wait_for("a full page", lambda: len(browser.rows("Instances")) == 100)
    browser.click("button", "Newest")
    browser.wait_text(f"batch-{count - 1:04d}", 'table[aria-label="Instances"]')
    shown = [row.find_element(By.TAG_NAME, "a").text for row in browser.rows("Instances")]
    expect(shown == [f"batch-{number:04d}" for number in range(count - 100, count)], f"newest: {shown}")
    browser.type("input[aria-label='Orchestration']", "rounds")
    browser.wait_text("No instances pass this filter.")
    browser.go("#/rates")
    browser.go("#/instances")
    wait_for("a full page", lambda: len(browser.rows("Instances")) == 100)
    browser.click(".tabs button", "failed")
    wait_for("the failed ones", lambda: 0 < len(browser.rows("Instances")) < 100 and
             all("failed" in row.text for row in browser.rows("Instances")))
    expect(browser.script("return document.querySelectorAll('*').length") < 3000, "the document grows")
    browser.check_clean()


def test_one_of_each(browser):
    """One is no plural."""
    browser.script("""
      const real = window.fetch;
      window.fetch = async (path, given) => {
        const answer = await real(path, given);
        if (path !== '/v1/workers') return answer;
        const { workers } = await answer.json();
        workers.forEach((worker) => Object.assign(worker, { sessions: 1, sessions_max: 1, sessions_busy: 1, devices: 1 }));
        return new Response(JSON.stringify({ workers }));
      };""")
    browser.go("#/sessions")
    browser.wait_text("1 of 1 session · 1 busy · 1 device", ".worker")
    expect("1 device" in browser.body() and "1 devices" not in browser.body(), browser.body())
    browser.driver.refresh()
    browser.wait_text("devices", ".worker")
    browser.check_clean()


def test_unknown(plant, browser):
    """An id that no instance has is said so, in the place of empty tables; and when there is one, it is shown."""
    browser.expected_errors = ("404",)
    browser.go("#/instance/not-yet")
    browser.wait_text("No instance has this id.")
    expect(len(browser.all("main .card")) == 1 and not browser.all("main table"), browser.body())
    plant.start("quick", "not-yet")
    browser.wait_text("not-yet", "h1")
    wait_for("all of it", lambda: len(browser.rows("Events")) > 0)
    expect("No instance has this id." not in browser.body(), browser.body())
    plant.wait_state("not-yet", "completed")
    plant.call("DELETE", "v1/instances/not-yet")
    browser.wait_text("No instance has this id.")
    browser.check_clean()
    browser.expected_errors = ()


def test_rates(plant, browser):
    """Charts of what the runtime counts, while it works."""
    browser.go("#/rates")
    for title in ("Commits", "Flushes", "Bytes written", "Turns"):
        browser.wait_text(title, ".chart h2")
    number = [0]
    def drawn():
        number[0] += 1
        plant.start("quick", f"rate-{number[0]}", b"x")
        paths = browser.script("return Array.from(document.querySelectorAll('.curve'), (path) => path.getAttribute('d').length)")
        rates = [element.text for element in browser.all(".chart .now")]
        return len(paths) == 6 and min(paths) > 20 and any(text not in ("0.0/s", "0 B/s", "…", "0/s") for text in rates)
    wait_for("curves", drawn)
    browser.wait_text("used bytes", ".tile")
    browser.check_clean()


def test_server_gone(plant, browser):
    """The page says that the server is gone, and goes on when it is back."""
    browser.expected_errors = ("ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "Failed to load resource", "ERR_SOCKET")
    browser.go("#/instances?name=order")
    browser.wait_text("order-1", 'table[aria-label="Instances"]')
    plant.kill("plant-1")
    browser.wait_text("does not answer", "#link")
    browser.wait_text("order-1", 'table[aria-label="Instances"]')
    plant.serve()
    browser.wait_text("Live", "#link")
    plant.start("order", "order-2", b"")
    browser.wait_text("order-2", 'table[aria-label="Instances"]')
    browser.check_clean()
    browser.expected_errors = ()


def test_read_only(plant, browser):
    """Where the endpoint only reads, nothing is offered that it would refuse; where it does not, all is there again."""
    def actions():
        return [element.text for element in browser.all("button") if element.is_displayed() and
                element.text in ("Raise event", "Suspend", "Cancel", "Terminate", "Restart", "Resume", "Drain", "Undrain")]
    def says():
        return browser.script("return getComputedStyle(document.querySelector('.brand'), '::after').content")
    browser.expected_errors = ("ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "Failed to load resource", "ERR_SOCKET")
    plant.wait_event("order-2", "wait")
    browser.go("#/instance/order-2")
    browser.wait_text("running", "h1 + .badge")
    expect(actions() == ["Raise event", "Suspend", "Cancel", "Terminate"] and says() == "none", f"{actions()} {says()}")
    plant.kill("plant-1")
    plant.serve("read-only")
    wait_for("no action", lambda: not actions())
    expect(says() == '"read only"', f"it says {says()}")
    browser.wait_text("running", "h1 + .badge")
    browser.go("#/sessions")
    browser.wait_text("plant-1", ".worker")
    expect(actions() == [], f"it offers {actions()}")
    browser.driver.refresh()
    browser.wait_text("Live", "#link")
    browser.wait_text("plant-1", ".worker")
    expect(actions() == [], f"it offers {actions()} after a reload")
    plant.kill("plant-1")
    plant.serve()
    wait_for("actions again", lambda: "Drain" in actions())
    browser.go("#/instance/order-2")
    wait_for("its actions", lambda: "Suspend" in actions())
    browser.check_clean()
    browser.expected_errors = ()


def test_small_and_dark(browser):
    """No view is wider than a small screen; colours follow the system."""
    colours = []
    for scheme in ("light", "dark"):
        browser.resize(360, 760, scheme)
        for address, text in (("#/instances", "order-1"), ("#/instance/order-1", "Events"), ("#/sessions", "plant-1"),
                              ("#/rates", "Commits")):
            browser.go(address)
            browser.wait_text(text, "main")
            expect(browser.script("return document.documentElement.scrollWidth") <= 360, f"{address} is too wide")
        colours.append(browser.script("return getComputedStyle(document.body).backgroundColor"))
    expect(colours[0] != colours[1], "dark is as light")
    browser.resize(1400, 900)
    browser.check_clean()


def test_hidden(browser):
    """A page that is hidden asks nothing, and asks at once when it is seen again."""
    browser.go("#/instances")
    browser.wait_text("order-1", 'table[aria-label="Instances"]')
    browser.script("""
      window.asked = 0;
      window.realFetch = window.fetch;
      window.fetch = (...rest) => (window.asked++, window.realFetch(...rest));
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });
      document.dispatchEvent(new Event('visibilitychange'));""")
    wait_for("the last answer", lambda: browser.script("window.before = window.asked; return true"))
    settled = browser.script("return window.asked")
    # Longer than the slowest pause: the page's own clock, so a slow machine waits as long as it takes.
    browser.driver.set_script_timeout(30)
    asked = browser.driver.execute_async_script(
        "const done = arguments[0]; setTimeout(() => done(window.asked), 5500);")
    expect(asked <= settled + 2, f"{asked - settled} questions while hidden")
    browser.script("""
      delete document.hidden;
      document.dispatchEvent(new Event('visibilitychange'));""")
    wait_for("it asks again", lambda: browser.script("return window.asked") > asked)
    browser.check_clean()


def run_all():
    test_size()
    plant = Plant()
    browser = None
    try:
        plant.serve()
        browser = Browser()
        for test, arguments in ((test_sign_in, (plant, browser)), (test_live_update, (plant, browser)),
                                (test_actions, (plant, browser)), (test_timeline, (plant, browser)),
                                (test_hostile, (plant, browser)), (test_sessions, (plant, browser)),
                                (test_one_of_each, (browser,)), (test_unknown, (plant, browser)),
                                (test_rates, (plant, browser)), (test_small_and_dark, (browser,)),
                                (test_hidden, (browser,)), (test_server_gone, (plant, browser)), (test_read_only, (plant, browser)),
                                (test_thousand, (plant, browser))):
            begun = time.monotonic()
            try:
                test(*arguments)
            except Exception:
                browser.driver.save_screenshot(os.path.join(SCRATCH, "failed.png"))
                print(f"FAILED: {test.__name__}: {browser.body()[:2000]}\n{browser.driver.get_log('browser')}", flush=True)
                raise
            print(f"ok: {test.__name__}, {time.monotonic() - begun:.1f} s", flush=True)
    finally:
        if browser:
            browser.driver.quit()
        plant.stop()
    with open(ERRORS, encoding="utf-8", errors="replace") as log:
        errors = log.read()
    expect(not errors, f"errors in the log of a worker: {errors}")


# ---- pictures ----


def pictures(folder):
    os.makedirs(folder, exist_ok=True)
    plant = Plant()
    browser = None
    try:
        plant.serve()
        plant.work("plant-2")
        for number in range(3):
            plant.start("order", f"order-{number}", b"three boxes")
        plant.start("holder", "crane-job")
        plant.start("hostile", "<b>not bold</b>", b"no")
        plant.wait_event("<b>not bold</b>", "wait")
        plant.call("POST", f"v1/instances/{quoted('<b>not bold</b>')}/events/{quoted(HOSTILE)}", b"")
        for number in range(60):
            plant.start("rounds" if number % 5 == 2 else "quick", f"batch-{number:03d}", b"x")
        plant.wait_state("batch-059", "completed")
        wait_for("crane is owned", lambda: plant.session("crane").get("node"))
        for number in range(3):
            plant.wait_event(f"order-{number}", "wait")
        browser = Browser()
        browser.driver.get(plant.url())
        browser.script("sessionStorage.setItem('pawl.token', arguments[0])", TOKEN)
        browser.driver.refresh()
        browser.wait_text("Live", "#link")
        browser.go("#/instances")
        browser.wait_text("batch-059", 'table[aria-label="Instances"]')
        browser.resize(1200, 620)
        browser.driver.save_screenshot(os.path.join(folder, "page-instances.png"))
        browser.go("#/instance/order-1")
        browser.wait_text("Values")
        browser.wait_text("open for", ".lanes text")
        browser.resize(1200, 760)
        browser.driver.save_screenshot(os.path.join(folder, "page-timeline.png"))
        browser.resize(1200, 620, "dark")
        browser.go("#/sessions")
        browser.wait_text("crane", ".worker table")
        owner = plant.session("crane")["node"]
        plant.call("POST", f"v1/sessions/crane/transfer?node={'plant-1' if owner == 'plant-2' else 'plant-2'}&stop_timeout_ms=0&force=true")
        wait_for("a move", lambda: browser.rows("Moves"))
        browser.driver.save_screenshot(os.path.join(folder, "page-sessions.png"))
    finally:
        if browser:
            browser.driver.quit()
        plant.stop()


if __name__ == "__main__":
    if PICTURES:
        pictures(PICTURES)
    else:
        run_all()
