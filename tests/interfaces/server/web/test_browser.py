"""The pages in a real browser: kept current, by keyboard, in the dark, without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chromium import running_chromium
from live_server import LiveServer
from live_trainings import ended
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ServerAddress
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]
LIMIT_MS = 100_000
CONTRAST_AA = 4.5

CONTRAST = """() => {
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const behind = element => {
    for (let each = element; each; each = each.parentElement) {
      const found = numbers(getComputedStyle(each).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const worst = [];
  for (const element of document.querySelectorAll("body *")) {
    const hasText = [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!hasText || element.closest("svg") || !element.getClientRects().length) continue;
    const colour = getComputedStyle(element).color;
    const [a, b] = [luminance(numbers(colour)), luminance(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    worst.push([ratio, element.outerHTML.slice(0, 120)]);
  }
  return worst.sort((a, b) => a[0] - b[0])[0];
}"""

_PIXELS = "c => c.toDataURL()"
DRAWN = "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v > 0)"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    found = LiveServer(tmp_path_factory.mktemp("server") / "state", "--cluster", "1x2")
    try:
        found.start()
        yield found
    finally:
        found.kill_everything()


@pytest.fixture
def client(server: LiveServer) -> Iterator[LiveClient]:
    """Its jobs end with the test."""
    with LiveClient(ServerAddress.find(folder=server.folder)) as found:
        yield found
        for job in found.jobs(("PENDING", "STARTING", "RUNNING")):
            found.change(job["id"], "cancel")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with running_chromium() as browser:
        yield browser


class Window:
    """A browser of its own in which somebody has signed in; collects what it complains about."""

    def __init__(self, chromium: Any, server: LiveServer, **options: Any) -> None:
        self.complaints: list[str] = []
        self.address = ServerAddress.find(folder=server.folder)
        self.context = chromium.new_context(base_url=self.address.url, **options)
        self.context.set_default_timeout(LIMIT_MS)
        self.tab = self.open("/")
        self.tab.fill("input[name=token]", self.address.token)
        self.tab.keyboard.press("Enter")
        self.tab.wait_for_selector("h1:has-text('Overview')")

    def open(self, path: str) -> Any:
        tab = self.context.new_page()
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        tab.on(
            "console",
            lambda said: self.complaints.append(said.text) if said.type == "error" else None,
        )
        tab.goto(path)
        return tab


@pytest.fixture(scope="module")
def signed_in(chromium: Any, server: LiveServer) -> Iterator[Window]:
    found = Window(chromium, server)
    yield found
    found.context.close()


@pytest.fixture
def window(signed_in: Window) -> Iterator[Window]:
    """The same browser for all tests, with a new tab for each of them."""
    former = signed_in.context.pages
    signed_in.complaints.clear()
    signed_in.tab = signed_in.open("/")
    for tab in former:
        tab.close()
    yield signed_in
    assert signed_in.complaints == []


@pytest.fixture(scope="module")
def narrow(chromium: Any, server: LiveServer) -> Iterator[Window]:
    found = Window(chromium, server, viewport={"width": 400, "height": 800})
    yield found
    found.context.close()


def submit(client: LiveClient, name: str, run: str = "sleep 1000", **more: Any) -> str:
    job: str = client.submit({"name": name, "run": run, "workdir": "/", **more})["id"]
    return job


def test_open_pages_follow_the_cluster(window: Window, client: LiveClient) -> None:
    window.tab.goto("/jobs")
    window.tab.evaluate("window.isTheSamePage = true")
    job = submit(client, "followed")
    row = f"tr:has(a[href='/jobs/{job}'])"
    window.tab.wait_for_selector(f"{row} .chip.running")
    client.change(job, "cancel")
    window.tab.wait_for_selector(f"{row} .chip.cancelled")
    assert window.tab.evaluate("window.isTheSamePage")


@pytest.mark.soak
def test_eight_tabs_share_one_stream(window: Window, client: LiveClient) -> None:
    streams: list[str] = []
    window.context.on(
        "request", lambda sent: streams.append(sent.url) if "/events" in sent.url else None
    )
    tabs = [window.open("/jobs") for _ in range(7)]
    job = submit(client, "shared")
    for tab in [window.tab, *tabs]:
        tab.bring_to_front()
        tab.wait_for_selector(f"a[href='/jobs/{job}']")
    assert len(streams) <= 1
    client.change(job, "cancel")


def test_a_button_is_pressed_by_keyboard(window: Window, client: LiveClient) -> None:
    job = submit(client, "pressed")
    window.tab.goto(f"/jobs/{job}")
    window.tab.focus(f"button[aria-label='cancel job {job}']")
    window.tab.keyboard.press("Enter")
    window.tab.wait_for_selector(".chip.cancelled")
    wait_until(lambda: client.job(job)["state"] == "CANCELLED")


@pytest.mark.soak
def test_the_map_of_machines_is_one_stop_of_the_keyboard_for_each_job(
    window: Window, client: LiveClient
) -> None:
    job = submit(client, "mapped")
    window.tab.goto("/machines")
    window.tab.wait_for_selector(f".on a[href='/jobs/{job}']")
    links = window.tab.locator(f"#live a[href='/jobs/{job}']")
    stops = links.evaluate_all("all => all.map(each => each.tabIndex)")
    assert sorted(stops) == [-1, 0]
    client.change(job, "cancel")


@pytest.mark.soak
@pytest.mark.parametrize("page", ["/", "/machines"])
def test_numbers_of_jobs_in_the_map_stand_beside_their_colours(
    window: Window, client: LiveClient, page: str
) -> None:
    job = submit(client, "mapped")
    window.tab.goto(page)
    place = f".on a[href='/jobs/{job}']"
    window.tab.wait_for_selector(place)
    swatch_ends, number_begins, swatch_height, number_height = window.tab.evaluate(
        """place => {
            const label = document.querySelector(place), range = document.createRange();
            range.selectNodeContents(label.lastChild);
            const swatch = label.querySelector("svg rect").getBoundingClientRect();
            const number = [...range.getClientRects()].at(-1);
            return [swatch.right, number.left, swatch.height, number.height];
        }""",
        place,
    )
    assert swatch_ends <= number_begins
    assert swatch_height <= number_height
    client.change(job, "cancel")


@pytest.mark.soak
def test_a_queue_is_held_and_the_page_follows_its_jobs(window: Window, client: LiveClient) -> None:
    client.create_queue("vision", {"guarantee": 1})
    window.tab.goto("/queues")
    row = "tr:has(a[href='/jobs?queue=vision'])"
    window.tab.focus("button[aria-label='hold queue vision']")
    window.tab.keyboard.press("Enter")
    window.tab.wait_for_selector(f"{row} .chip.held")
    window.tab.evaluate("window.isTheSamePage = true")
    job = submit(client, "seen", queue="vision")
    window.tab.wait_for_selector(f"{row} td:nth-child(10):has-text('1')")
    assert client.job(job)["reason"] == "QueueOnHold"
    client.set_queue_mode("vision", "resume")
    window.tab.wait_for_selector(f"{row} td:nth-child(9):has-text('1')")
    assert window.tab.evaluate("window.isTheSamePage")
    client.change(job, "cancel")
    wait_until(lambda: client.job(job)["attempt_list"][-1]["phase"] == "ended")
    client.delete_queue("vision")


LONG_NAME = "a-name-of-a-job-that-tells-all-of-its-parameters-at-once"


@pytest.mark.soak
@pytest.mark.parametrize(("width", "shown"), [(1300, ".actions button"), (400, ".chip")])
def test_a_long_name_keeps_what_follows_it_in_view(
    window: Window, client: LiveClient, width: int, shown: str
) -> None:
    job = submit(client, LONG_NAME, processes=2)
    window.tab.set_viewport_size({"width": width, "height": 800})
    window.tab.goto("/jobs")
    row = f"tr:has(a[href='/jobs/{job}'])"
    window.tab.wait_for_selector(f"{row} .chip.running")
    part = window.tab.locator(f"{row} {shown}").last
    assert part.evaluate("part => part.getBoundingClientRect().right") < width
    assert window.tab.locator(f"{row} td[title='{LONG_NAME}']").count() == 1


TWO_CHANGES_AT_ONCE = """async () => {
    const body = document.body;
    const once = (name) => new Promise((done) => body.addEventListener(name, done, { once: true }));
    const changed = () => body.dispatchEvent(new Event("motet-changed"));
    const settled = once("htmx:afterSettle");
    changed();
    await settled;
    const first = once("htmx:afterSettle");
    changed();
    changed();
    await first;
    await once("htmx:afterSettle");
}"""


@pytest.mark.soak
def test_a_change_during_a_refresh_is_shown_by_another_refresh(window: Window) -> None:
    window.tab.goto("/jobs")
    window.tab.wait_for_function("window.htmx !== undefined")
    window.tab.evaluate(TWO_CHANGES_AT_ONCE)


@pytest.mark.soak
def test_a_second_tab_shows_a_change_that_came_before_its_script(
    window: Window, client: LiveClient
) -> None:
    window.tab.goto("/jobs")
    held: list[Any] = []
    second = window.context.new_page()
    second.route("**/motet.js", lambda route: held.append(route))
    second.goto("/jobs", wait_until="commit")
    second.wait_for_selector("h1:has-text('Jobs')")

    window.tab.bring_to_front()
    job = submit(client, "between")
    window.tab.wait_for_selector(f"a[href='/jobs/{job}']")
    client.change(job, "cancel")
    window.tab.wait_for_selector(f"tr:has(a[href='/jobs/{job}']) .chip.cancelled")
    while not held:
        second.wait_for_timeout(10)
    second.bring_to_front()
    held[0].continue_()

    second.wait_for_selector(f"tr:has(a[href='/jobs/{job}']) .chip.cancelled")


@pytest.mark.soak
def test_a_filter_and_an_order_stay_in_the_address(window: Window, client: LiveClient) -> None:
    for name in ("filter-b", "filter-a"):
        client.change(submit(client, name), "cancel")
    window.tab.goto("/jobs")
    window.tab.fill("input[name=name]", "filter-")
    window.tab.check("input[value=CANCELLED]")
    window.tab.click("button:has-text('Filter')")
    window.tab.wait_for_url("**name=filter-**")
    window.tab.click("th a:has-text('Name')")
    window.tab.wait_for_url("**sort=name**")
    names = window.tab.locator("td.name a").all_inner_texts()
    assert names == ["filter-a", "filter-b"]


@pytest.mark.soak
def test_loss_and_times_of_a_training_are_drawn(window: Window, client: LiveClient) -> None:
    values = {"name": "fit", "kind": "ps", "app": "mlr", "data": "digits", "workdir": "/"}
    job = client.submit({**values, "epochs": 5, "set": {"tol": 0}})["id"]
    ended(client, job)
    window.tab.goto(f"/jobs/{job}")
    for place in ("loss", "times"):
        canvas = window.tab.wait_for_selector(f"#{place} canvas")
        assert canvas.evaluate(DRAWN)
    assert "computation" in window.tab.inner_text("h2:has-text('Time per epoch')")
    assert_kept_drawn(window.tab, "loss")


@pytest.mark.soak
def test_a_replay_is_started_by_keyboard_and_its_page_follows(
    narrow: Window, window: Window, client: LiveClient
) -> None:
    ended(client, submit(client, "replayed", "true"))
    window.tab.goto("/whatif")
    window.tab.focus("select[name=policy]")
    window.tab.keyboard.type("best-effort")
    window.tab.focus("button:has-text('Replay')")
    window.tab.keyboard.press("Enter")
    window.tab.wait_for_url("**/whatif/*")
    assert window.tab.wait_for_selector("#curves canvas").evaluate(DRAWN)
    assert_kept_drawn(window.tab, "curves")
    place = window.tab.url
    narrow.tab.goto(place)
    narrow.tab.click("summary")
    assert_readable(narrow.tab)
    assert narrow.tab.evaluate("document.documentElement.scrollWidth") <= 400


@pytest.mark.soak
def test_a_narrow_window_shows_all_figures_of_a_replay(narrow: Window, client: LiveClient) -> None:
    jobs = [submit(client, "long", "sleep 3"), submit(client, "wide", "true", processes=2)]
    jobs.append(submit(client, "overtakes-under-best-effort", "true"))
    for job in jobs:
        ended(client, job)
    narrow.tab.goto("/whatif")
    narrow.tab.select_option("select[name=policy]", "best-effort")
    narrow.tab.click("button:has-text('Replay')")
    narrow.tab.wait_for_selector(".runs")
    for part in (".runs td >> nth=6", ".moved td.sooner"):
        box = narrow.tab.locator(part).first.bounding_box()
        assert box["width"] > 0
        assert box["x"] + box["width"] <= 400


@pytest.mark.soak
def test_a_replay_is_read_without_scripts(
    chromium: Any, server: LiveServer, client: LiveClient
) -> None:
    ended(client, submit(client, "replayed", "true"))
    window = Window(chromium, server, java_script_enabled=False)
    window.tab.goto("/whatif")
    window.tab.select_option("select[name=policy]", "drf")
    window.tab.click("button:has-text('Replay')")
    window.tab.wait_for_selector("h2:has-text('Completion times')")
    assert "Under drf the mean completion time" in window.tab.inner_text("main")
    window.context.close()


def assert_kept_drawn(tab: Any, place: str) -> None:
    """The plot of a place follows the width of the window, and changes between light and dark."""
    canvas, size = f"#{place} canvas", tab.viewport_size
    fits = f"""() => {{
      const place = document.getElementById("{place}"), plots = place.querySelectorAll(".uplot");
      return plots.length === 1 && plots[0].offsetWidth === place.clientWidth;
    }}"""
    for width in (500, 900, size["width"]):
        tab.set_viewport_size({**size, "width": width})
        tab.wait_for_function(fits)
    tab.emulate_media(color_scheme="light")
    in_light = tab.wait_for_selector(canvas).evaluate(_PIXELS)
    tab.emulate_media(color_scheme="dark")
    changed = f"before => ({_PIXELS})(document.querySelector('{canvas}')) !== before"
    tab.wait_for_function(changed, arg=in_light)
    tab.emulate_media(color_scheme="light")


def assert_readable(tab: Any) -> None:
    """All text of a page, in the light and in the dark."""
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        ratio, element = tab.evaluate(CONTRAST)
        assert ratio >= CONTRAST_AA, (tab.url, scheme, element)


@pytest.mark.soak
def test_text_can_be_read_on_its_background(window: Window, client: LiveClient) -> None:
    for name, run in (("fails", "exit 3"), ("works", "true"), ("runs", "sleep 1000")):
        job = submit(client, name, run)
    waits = submit(client, "waits", processes=2)
    for path in (
        "/",
        "/jobs",
        f"/jobs/{job}",
        "/machines",
        "/aggregators",
        "/memory",
        "/queues",
        "/timeline",
        "/decisions",
        "/whatif",
    ):
        window.tab.goto(path)
        assert_readable(window.tab)
    for each in (job, waits):
        client.change(each, "cancel")


@pytest.mark.soak
def test_the_page_of_a_missing_job_can_be_read(narrow: Window) -> None:
    narrow.tab.goto("/jobs/99999")
    assert_readable(narrow.tab)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/jobs",
        "/machines",
        "/aggregators",
        "/memory",
        "/queues",
        "/timeline",
        "/decisions",
        "/whatif",
    ],
)
def test_a_narrow_window_does_not_scroll_sideways(narrow: Window, path: str) -> None:
    narrow.tab.goto(path)
    assert narrow.tab.evaluate("document.documentElement.scrollWidth") <= 400


def test_pages_are_read_without_scripts(
    chromium: Any, server: LiveServer, client: LiveClient
) -> None:
    job = submit(client, "plain", "echo printed")
    ended(client, job)
    window = Window(chromium, server, java_script_enabled=False)
    window.tab.goto("/jobs")
    window.tab.click(f"td.name a[href='/jobs/{job}']")
    window.tab.wait_for_selector("pre.log:has-text('printed')")
    window.context.close()


@pytest.mark.soak
def test_jobs_and_queues_are_changed_without_scripts(
    chromium: Any, server: LiveServer, client: LiveClient
) -> None:
    job = submit(client, "changed", "sleep 1000")
    window = Window(chromium, server, java_script_enabled=False)
    tab = window.tab

    def press(page: str, action: str) -> None:
        tab.goto(page)
        tab.click(f"form[action='{action}'] button")
        assert tab.url.endswith(page)

    press("/jobs?name=changed&sort=name", f"/jobs/{job}/suspend")
    assert client.job(job)["state"] == "SUSPENDED"
    press(f"/jobs/{job}", f"/jobs/{job}/resume")
    assert client.job(job)["state"] != "SUSPENDED"
    for verb, mode in (("hold", "HELD"), ("drain", "DRAINING"), ("resume", "OPEN")):
        press("/queues", f"/queues/default/{verb}")
        assert mode in tab.inner_text("main")
    tab.goto("/jobs")
    client.change(job, "cancel")
    tab.click(f"form[action='/jobs/{job}/suspend'] button")
    assert f"job {job} is CANCELLED" in tab.inner_text("main")
    window.context.close()


COUNTS = "n=0; while :; do n=$((n + 1)); echo line $n; sleep 0.2; done"


def size_of_log(client: LiveClient, job: str) -> int:
    size = client.log_part(job, rank=0, attempt=0, offset=0).size
    assert size is not None
    return size


def lines_shown(tab: Any) -> list[str]:
    text: str = tab.inner_text("pre.log")
    return text.splitlines()


def has_lines(tab: Any, count: int) -> None:
    """Wait for them."""
    tab.wait_for_function(
        "count => document.querySelector('pre.log').innerText.split('\\n').length > count",
        arg=count,
    )


def test_a_log_is_followed_paused_and_followed_again_over_the_one_stream(
    window: Window, client: LiveClient
) -> None:
    window.tab.goto("about:blank")  # The first page has a stream of its own.
    streams: list[str] = []
    window.context.on(
        "request", lambda sent: streams.append(sent.url) if "/events" in sent.url else None
    )
    job = submit(client, "talks", COUNTS)
    wait_until(lambda: client.job(job)["state"] == "RUNNING")
    window.tab.goto(f"/jobs/{job}")
    has_lines(window.tab, 5)
    window.tab.focus("#pause")
    window.tab.keyboard.press("Enter")
    window.tab.wait_for_selector("#pause:has-text('Follow')")
    paused = lines_shown(window.tab)
    size = size_of_log(client, job)
    wait_until(lambda: size_of_log(client, job) > 20 + size)
    assert lines_shown(window.tab) == paused
    window.tab.keyboard.press("Enter")
    has_lines(window.tab, len(paused) + 3)
    client.change(job, "cancel")
    window.tab.wait_for_selector("pre.log[data-ended]", state="attached")
    whole = client.log_part(job, rank=0, attempt=0, offset=0).data.decode()
    assert lines_shown(window.tab) == whole.splitlines()
    assert window.tab.is_hidden("#pause")
    assert len(streams) <= 1


@pytest.mark.soak
def test_a_part_of_the_log_that_arrives_after_the_pause_is_not_shown(
    window: Window, client: LiveClient
) -> None:
    job = submit(client, "talks", COUNTS)
    window.tab.goto(f"/jobs/{job}")
    has_lines(window.tab, 2)
    held: list[Any] = []
    window.tab.route(lambda url: "offset=" in url, lambda request: held.append(request))
    while not held:
        window.tab.wait_for_timeout(10)
    window.tab.click("#pause")
    window.tab.wait_for_selector("#pause:has-text('Follow')")
    paused = lines_shown(window.tab)
    held[0].continue_()
    window.tab.wait_for_function("() => !isReading")
    assert lines_shown(window.tab) == paused


@pytest.mark.soak
def test_the_page_of_a_job_goes_on_with_the_log_of_the_next_attempt(
    window: Window, client: LiveClient
) -> None:
    job = submit(client, "again", "echo attempt $MOTET_ATTEMPT_NUMBER; exec sleep 1000")
    window.tab.goto(f"/jobs/{job}")
    window.tab.wait_for_selector("pre.log:has-text('attempt 1')")
    client.change(job, "suspend")
    client.change(job, "resume")
    window.tab.wait_for_selector("pre.log:has-text('attempt 2')")
    assert lines_shown(window.tab) == ["attempt 2"]


@pytest.mark.soak
def test_what_is_scrolled_to_in_a_log_stays_in_view(window: Window, client: LiveClient) -> None:
    job = submit(client, "long", f"seq 1 2000; {COUNTS}")
    window.tab.goto(f"/jobs/{job}")
    has_lines(window.tab, 1000)
    window.tab.evaluate("document.querySelector('pre.log').scrollTop = 100")
    others = [submit(client, f"other-{n}", "true") for n in range(2)]
    for each in others:
        ended(client, each)
    has_lines(window.tab, 2000)
    assert window.tab.evaluate("document.querySelector('pre.log').scrollTop") == 100
    client.change(job, "cancel")


@pytest.mark.soak
def test_an_empty_log_says_whether_more_may_come(window: Window, client: LiveClient) -> None:
    """What a style sheet adds is not part of the text of an element."""
    told = "getComputedStyle(document.querySelector('pre.log > span'), '::before').content"
    job = submit(client, "silent")
    wait_until(lambda: client.job(job)["state"] == "RUNNING")
    window.tab.goto(f"/jobs/{job}")
    assert window.tab.evaluate(told) == '"(nothing yet)"'
    client.change(job, "cancel")
    window.tab.wait_for_selector("pre.log[data-ended]", state="attached")
    assert window.tab.evaluate(told) == '"(nothing was written)"'
