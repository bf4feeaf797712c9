// The page of the endpoint: instances, one instance as a timeline, sessions by worker, rates.
//
// Plain modules of the browser, no dependency, no build step. What the endpoint answers is data that
// others wrote: it reaches the document as text nodes and attributes of our own, never as markup.
// A view is a function that builds its part of the document once, and a refresh() that the poller
// calls: it fetches, and changes only what is different, so focus and selection stay.

const PAGE_ROWS = 100; // of a table that is listed
const EVENT_ROWS = 200; // of the table of events; also the largest page of the endpoint
const EVENTS_MAX = 20000; // of a history that are loaded
const PREVIEW = 120; // characters
const TEXT_SHOWN = 4096; // characters of a text before "show all"
const POLL_MS = { fastest: 1000, slowest: 5000, gone: 15000, timeout: 10000 };
const SAMPLES = 150; // of a chart

// --- texts that others wrote

const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const escapeUnit = (c) => (c === "\n" ? "\\n" : c === "\t" ? "\\t" : "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

/** Shows what a screen would not, or would obey: control characters and marks that turn the direction. */
const visible = (text) => text.replace(UNSEEN, escapeUnit);
const visibleLines = (text) => text.replace(UNSEEN, (c) => (c === "\n" || c === "\t" ? c : escapeUnit(c)));

/** The bytes of a text that is no UTF-8, each in its form. */
const bytesOf = (base64, form) => Array.from(atob(base64), (c) => form(c.charCodeAt(0))).join("");
const hex = (byte) => byte.toString(16).padStart(2, "0");

/** The member as a text; bytes that are no UTF-8 as \xHH. Empty if there is none. */
function textOf(row, key) {
  if (typeof row[key] === "string") return row[key];
  if (typeof row[key + "_base64"] !== "string") return "";
  return bytesOf(row[key + "_base64"], (b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : "\\x" + hex(b)));
}

/** The same as it is shown. */
const shown = (row, key, most = PREVIEW) => visible(cut(textOf(row, key), most));

/** The member as it stands in a path or a query; it need not be UTF-8. */
function segmentOf(row, key) {
  if (typeof row[key + "_base64"] === "string") return bytesOf(row[key + "_base64"], (b) => "%" + hex(b));
  return encodeURIComponent(row[key] ?? "");
}

const cut = (text, most = PREVIEW) => (text.length > most ? text.slice(0, most) + "…" : text);
const words = (name) => name.replaceAll("_", " ");
const count = (n) => Number(n).toLocaleString("en-US").replaceAll(",", "\u202f");
const many = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;

const UNITS = [["d", 864e5], ["h", 36e5], ["min", 6e4], ["s", 1e3]];
function duration(ms) {
  const sign = ms < 0 ? "−" : "";
  const all = Math.abs(ms);
  if (all < 1000) return `${sign}${Math.round(all)} ms`;
  if (all < 60e3) return `${sign}${(all / 1000).toFixed(all < 10e3 ? 2 : 1).replace(/\.?0+$/, "")} s`;
  const at = UNITS.findIndex(([, unit]) => all >= unit);
  const [unit, most] = UNITS[at];
  const [below, part] = UNITS[at + 1];
  const rest = Math.floor((all % most) / part);
  return `${sign}${Math.floor(all / most)} ${unit}${rest ? ` ${rest} ${below}` : ""}`;
}

function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  for (; bytes >= 1024 && at < units.length - 1; at++) bytes /= 1024;
  return `${at && bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)} ${units[at]}`;
}

/** In local time. */
function clock(ms) {
  const text = new Date(ms - new Date(ms).getTimezoneOffset() * 6e4).toISOString();
  return { day: text.slice(0, 10), hour: text.slice(11, 19), exact: `${text.slice(0, 10)} ${text.slice(11, 23)}` };
}

// --- the document

function set(element, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key.slice(2), value);
    else if (value === false || value == null) element.removeAttribute(key);
    else if (element.getAttribute(key) !== String(value)) element.setAttribute(key, value === true ? "" : value);
  }
}

/** Attributes and children; null and false ones are left out. A text child becomes a text node. */
function filled(element, attributes, children) {
  set(element, attributes);
  element.append(...children.flat(9).filter((child) => child != null && child !== false));
  return element;
}
const h = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
const s = (tag, attributes = {}, ...children) => filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const byId = (id) => document.getElementById(id);
const setText = (element, text) => element.textContent !== text && (element.textContent = text);
const td = (...children) => h("td", {}, ...children);
const cell = (kind, ...children) => h("td", { class: kind }, ...children);
const num = (...children) => cell("num", ...children);
const wide = (...children) => cell("wide", ...children);
const span = (kind, ...children) => h("span", { class: kind }, ...children);
const card = (title, ...children) => h("section", { class: "card" }, title && h("h2", {}, title), ...children);
const bar = (...children) => h("div", { class: "head" }, ...children);
const line = (...children) => h("div", { class: "row" }, ...children);
const group = (label, kind, ...children) => h("div", { class: `row ${kind}`, role: "group", "aria-label": label }, ...children);
const badge = (state) => h("span", { class: `badge ${state}` }, words(state));
const button = (label, onclick, attributes = {}) => h("button", { type: "button", onclick, ...attributes }, label);
const pressed = (on) => ({ "aria-pressed": String(Boolean(on)) });

const seconds = (ms) => (ms < 1000 ? "0 s" : duration(Math.floor(ms / 1000) * 1000));
function agoText(ms) {
  const past = Date.now() - ms;
  const [, unit] = UNITS.find(([, unit]) => past >= unit) ?? [];
  return unit ? `${duration(Math.floor(past / unit) * unit)} ago` : "just now";
}
/** A time as "3 s ago", kept true by keepAgo(). */
const ago = (ms) => h("time", { "data-ago": ms, title: clock(ms).exact }, agoText(ms));
function keepAgo() {
  for (const time of document.querySelectorAll("time")) setText(time, agoText(Number(time.dataset.ago)));
}

/** A text of others: the whole of it, behind a button when it is long. */
function textBlock(text) {
  const block = h("pre", { tabindex: 0, dir: "ltr" }, visibleLines(text.slice(0, TEXT_SHOWN)));
  if (text.length <= TEXT_SHOWN) return block;
  const all = button(`Show all ${count(text.length)} characters`, () => {
    block.textContent = visibleLines(text);
    all.remove();
    block.focus();
  });
  return h("div", {}, block, all);
}

/** Brings the children of `parent` into the state of `rows`. An unchanged row keeps its element. */
function keyed(parent, rows, cells, element = () => h("tr")) {
  const old = new Map(Array.from(parent.children, (child) => [child.getAttribute("data-key"), child]));
  let place = parent.firstElementChild;
  for (const row of rows) {
    const key = String(row.key ?? row.key_base64 ?? row.execution_id ?? row.id);
    const form = JSON.stringify(row);
    const child = old.get(key) ?? element(row);
    old.delete(key);
    if (child.form !== form && cells) redraw(child, cells(row));
    child.form = form;
    child.setAttribute("data-key", key);
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
  }
  for (const gone of old.values()) gone.remove();
}

/** New content, with the focus where it was. */
function redraw(element, content) {
  const focusable = () => Array.from(element.querySelectorAll("a, button"));
  const at = focusable().indexOf(document.activeElement);
  element.replaceChildren(...content);
  if (at >= 0) focusable()[at]?.focus();
}

/** A table; `head` has pairs of a title and a class. */
function table(label, head) {
  const body = h("tbody");
  const titles = h("tr", {}, head.map(([title, kind]) => h("th", { scope: "col", class: kind }, title)));
  return { body, root: h("div", { class: "scroll" }, h("table", { "aria-label": label }, h("thead", {}, titles), body)) };
}

function note(text, kind = "") {
  const box = h("div", { class: `note ${kind}` }, visible(cut(text, 400)));
  byId("notes").append(box);
  setTimeout(() => box.remove(), 8000);
}

/** Asks in a dialog. Answers the values of the fields, or null. */
function ask({ title, text, yes, danger, fields = [] }) {
  const dialog = byId("ask");
  if (dialog.open) return null;
  const inputs = fields.map(({ name, label, tag = "input", type = null }) => h("label", {}, span("dim", label), h(tag, { name, type, autocomplete: "off", spellcheck: "false" })));
  const confirm = h("button", { value: "yes", class: danger ? "main danger" : "main" }, yes);
  const form = h("form", { method: "dialog" }, h("h2", {}, title), h("p", {}, visible(text)), inputs, h("menu", {}, button("Cancel", () => dialog.close("")), confirm));
  dialog.replaceChildren(form);
  dialog.returnValue = "";
  return new Promise((resolve) => {
    dialog.onclose = () => {
      const given = Object.fromEntries(new FormData(form));
      dialog.replaceChildren();
      resolve(dialog.returnValue === "yes" ? given : null);
    };
    dialog.showModal();
    (form.querySelector("input, textarea") ?? confirm).focus();
  });
}

// --- the endpoint

const TOKEN = "pawl.token";

/** No answer (status 0), or one that is no success. */
class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

function gone() {
  throw new Refused(0, "The server does not answer");
}
async function call(path, { method = "GET", body, signal } = {}) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (method !== "GET") headers["X-Pawl-Request"] = "page";
  const response = await fetch(path, { method, headers, body, signal, cache: "no-store", credentials: "omit", redirect: "error" }).catch(gone);
  const answer = await response.json().catch(response.ok ? gone : () => ({}));
  if (!response.ok) throw new Refused(response.status, answer.message ?? `The endpoint answered ${response.status}`);
  return answer;
}

/** A path with the parameters that are given. */
function withQuery(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value != null);
  return given.length ? `${path}?${given.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&")}` : path;
}

/** Rows of a listing behind `after`, up to `most`. An empty answer may have more behind it. */
async function gather(path, list, parameters, signal, { after = 0, most = 1000, calls = 20 } = {}) {
  const rows = [];
  let more = true;
  for (let i = 0; more && rows.length < most && i < calls; i++) {
    const page = await call(withQuery(path, { ...parameters, after: after || "", limit: Math.min(200, most - rows.length) }), { signal });
    rows.push(...page[list]);
    ({ after, more } = page);
  }
  return { rows, after, more };
}

/** A button that asks, does it, and says what came of it; the endpoint may only read. */
function action(verb, question, request) {
  const act = async () => {
    const given = await ask({ title: verb, yes: verb, ...question });
    if (!given) return;
    const { path, body } = request(given);
    await call(path, { method: "POST", body }).then(() => note(`${verb}: done.`), (error) => note(error.message, "bad"));
    poller.soon();
  };
  return button(verb, act, { class: question.danger ? "act danger" : "act" });
}

/** Whether it takes changes: asked each time, for another may be there now. */
async function learn(signal) {
  const { read_only } = await call("/v1/endpoint", { signal });
  document.body.dataset.reads = read_only;
}

// --- polling

/** Calls refresh() of the view, one at a time: fast while things change, slower while they do not, never while the
 * page is hidden, and with a backoff while the endpoint is gone. */
class Poller {
  pause = POLL_MS.fastest;
  failures = 0;

  show(view) {
    this.view?.leave?.();
    this.view = view;
    this.soon();
  }
  soon() {
    this.running?.abort();
    this.pause = POLL_MS.fastest;
    this.schedule(0);
  }
  schedule(ms) {
    clearTimeout(this.timer);
    if (!document.hidden) this.timer = setTimeout(() => this.run(), ms);
  }
  async run() {
    const view = this.view;
    const running = (this.running = new AbortController());
    const late = setTimeout(() => running.abort("late"), POLL_MS.timeout);
    try {
      const [changed] = await Promise.all([view.refresh(running.signal), learn(running.signal)]);
      if (running === this.running) this.succeeded(changed !== false);
    } catch (error) {
      const isReplaced = running !== this.running || (running.signal.aborted && running.signal.reason !== "late");
      if (!isReplaced) await this.failed(error);
    } finally {
      clearTimeout(late);
    }
  }
  succeeded(changed) {
    this.failures = 0;
    this.pause = changed ? POLL_MS.fastest : Math.min(this.pause * 1.5, POLL_MS.slowest);
    this.schedule(this.pause);
    showLink("live", `Live · ${clock(Date.now()).hour}`);
  }
  async failed(error) {
    if (error.status === 401) return this.signIn(error);
    this.failures++;
    const ms = Math.min(1000 * 2 ** (this.failures - 1), POLL_MS.gone);
    this.schedule(ms);
    if (!(error instanceof Refused)) console.error(error);
    showLink("gone", `${visible(error.message)} · again in ${duration(ms)}`);
  }
  async signIn(error) {
    const why = sessionStorage.getItem(TOKEN) ? `${error.message} ` : "";
    sessionStorage.removeItem(TOKEN);
    showLink("gone", "A token is needed");
    const given = await ask({ title: "This endpoint asks for a token", text: `${why}It stands in the endpoint's token file; only this tab keeps it.`, yes: "Sign in", fields: [{ name: "token", label: "Bearer token", type: "password" }] });
    if (!given?.token) return byId("link").append(" ", button("Sign in", () => this.soon()));
    sessionStorage.setItem(TOKEN, given.token.trim());
    this.soon();
  }
}

function showLink(state, text) {
  const link = byId("link");
  set(link, { "data-state": state, "aria-live": state === "live" ? "off" : "polite" });
  setText(link, text);
  byId("forget").hidden = !sessionStorage.getItem(TOKEN);
}

const poller = new Poller();

// --- instances

const STATES = ["running", "completed", "failed", "stopped", "suspended"];

const instanceLink = (row, key = "id", title = shown(row, key, 600)) => h("a", { class: "clip mono", href: `#/instance/${segmentOf(row, key)}`, title }, title);

const INSTANCE_HEAD = [["State"], ["Instance"], ["Orchestration"], ["Execution", "num wide"], ["Created"], ["Updated", "wide"]];
function instanceCells(row) {
  return [td(badge(row.state)), td(instanceLink(row)), td(span("clip", shown(row, "name", 300)), span("dim", ` ${shown(row, "version")}`)),
    cell("num wide", count(row.execution_id)), td(ago(row.created_ms)), wide(ago(row.updated_ms))];
}

function filterInput(label, value, change) {
  let timer;
  const oninput = ({ target }) => {
    clearTimeout(timer);
    timer = setTimeout(() => change(target.value), 250);
  };
  return h("input", { type: "search", placeholder: label, "aria-label": label, value, oninput, autocomplete: "off", spellcheck: "false", size: 18 });
}

/** Where the last page begins: behind the highest key with more than a page behind it. */
async function findLastPage(filter) {
  const behind = async (after) => (await gather("/v1/instances", "instances", filter, null, { after, most: PAGE_ROWS + 1, calls: Infinity })).rows;
  let high = 0;
  for (let step = 2 ** 32; step >= 1; step /= 2) if ((await behind(high + step)).length > PAGE_ROWS) high += step;
  const rows = await behind(high);
  return (rows.at(-PAGE_ROWS) ?? rows[0])?.key - 1 || 0;
}

/** First, previous, next, newest, of what passes the filter. */
function pager(filter) {
  let starts = [0];
  let after = 0;
  const turn = (to) => {
    starts = to;
    scrollTo(0, 0);
    poller.soon();
  };
  const newest = async () => {
    last.disabled = true;
    await findLastPage(filter()).then((start) => turn([...starts, start]), (error) => note(error.message, "bad"));
    last.disabled = false;
  };
  const place = h("span", { class: "dim small", id: "place" });
  const first = button("First", () => turn([0]));
  const back = button("Previous", () => turn(starts.slice(0, -1)));
  const next = button("Next", () => turn([...starts, after]));
  const last = button("Newest", newest, { title: "Those that were created last" });
  const show = (rows, page) => {
    after = page.after;
    setText(place, `Page ${starts.length} · ${many(rows, "instance")}, in order of creation`);
    first.disabled = back.disabled = starts.length === 1;
    next.disabled = !page.more;
  };
  return { root: bar(place, span("grow"), first, back, next, last), turn, show, start: () => starts.at(-1) };
}

/** What is typed and chosen, kept in the address; the states with how many there are. */
function instanceFilter(route, changed) {
  const values = Object.fromEntries(["state", "name", "id_prefix"].map((key) => [key, route.query.get(key) ?? ""]));
  const change = (to) => {
    Object.assign(values, to);
    history.replaceState(null, "", withQuery("#/instances", values));
    show();
    changed();
  };
  const tabs = ["", ...STATES].map((state) => ({ state, tab: button(state || "all", () => change({ state })) }));
  const name = filterInput("Orchestration", values.name, (name) => change({ name }));
  const prefix = filterInput("Id begins with", values.id_prefix, (id_prefix) => change({ id_prefix }));
  const show = (metrics) => {
    for (const { state, tab } of tabs) {
      set(tab, pressed(values.state === state));
      const states = state ? [state] : STATES;
      if (metrics) tab.replaceChildren(state || "all", h("b", {}, count(states.reduce((sum, one) => sum + metrics[`instances_${one}`], 0)) + (metrics.complete ? "" : "+")));
    }
  };
  show();
  return { root: bar(group("State", "tabs", ...tabs.map(({ tab }) => tab)), line(name, prefix)), values, show };
}

function instancesView(route) {
  const list = table("Instances", INSTANCE_HEAD);
  const empty = h("p", { class: "empty", hidden: true });
  const pages = pager(() => filter.values);
  const filter = instanceFilter(route, () => pages.turn([0]));
  const root = card("", filter.root, list.root, empty, pages.root);
  const isChanged = changes();
  const refresh = async (signal) => {
    const [page, metrics] = await Promise.all([
      gather("/v1/instances", "instances", filter.values, signal, { after: pages.start(), most: PAGE_ROWS, calls: 8 }),
      call("/v1/metrics", { signal }),
    ]);
    filter.show(metrics);
    keyed(list.body, page.rows, instanceCells);
    pages.show(page.rows.length, page);
    list.root.hidden = !page.rows.length;
    empty.hidden = page.rows.length > 0;
    setText(empty, page.more ? "None here yet, but there are more: Next." : `No ${pages.start() ? "more " : ""}instances ${Object.values(filter.values).some(Boolean) ? "pass this filter" : "yet"}.`);
    return isChanged([page, metrics]);
  };
  return { root, refresh };
}

/** A function that says whether what it is given is different from the last. */
function changes() {
  let last = "";
  return (value) => {
    const form = JSON.stringify(value);
    const changed = form !== last;
    last = form;
    return changed;
  };
}

// --- a history as lanes

// A lane is a command with its outcome, or one thing that happened. `to` is null while it is open, `plan` when it is due.

const GROUPS = { run: "execution", activity: "activities", timer: "timers", wait: "waits for events", child: "children", session: "sessions", value: "values and status", cancel: "cancel requests" };
const SPANS = { started: "run", activity: "activity", timer: "timer", wait: "wait", dequeue: "wait", child: "child", value_read: "value", session_check: "session" };
const INSTANTS = { detached: "child", cancel_requested: "cancel", branch_opened: "run" };
const groupOf = ({ kind }) => SPANS[kind] ?? INSTANTS[kind] ?? (kind.startsWith("session_") ? "session" : "value");

function laneLabel(event) {
  const name = shown(event, "name", 200);
  switch (event.kind) {
    case "started": return `${name} ${visible(event.version ?? "")}`.trim();
    case "activity": return event.session ? `${name} on ${shown(event, "session", 60)}` : name;
    case "timer": return event.number > 1e11 ? `until ${clock(event.number).exact}` : `timer of ${duration(event.number ?? 0)}`;
    case "wait": return `event ${name}`;
    case "dequeue": return `queue ${name}`;
    case "custom_status": return `status: ${shown(event, "payload", 60)}`;
    case "state_write": return `${event.number === 1 ? "clears" : "sets"} ${name}`;
    default: return `${words(event.kind)} ${name}`.trim();
  }
}

function newLane(event) {
  const instant = !(event.kind in SPANS);
  const plan = event.kind !== "timer" ? undefined : event.number > 1e11 ? event.number : event.time_ms + (event.number ?? 0);
  return { id: event.id, group: groupOf(event), label: laneLabel(event), from: event.time_ms, to: instant ? event.time_ms : null,
    outcome: instant ? "done" : "open", instant, events: [event], plan };
}

function endLane(lane, event, outcome) {
  if (!lane) return;
  lane.events.push(event);
  Object.assign(lane, { to: event.time_ms, outcome });
}

function lanesOf(events, execution, activities) {
  const lanes = new Map();
  const byCommand = new Map();
  for (const event of events) {
    const command = (ordinal) => `${event.branch ?? 0}.${ordinal ?? 0}`;
    if (event.kind === "close") {
      const lane = byCommand.get(command(event.number));
      if (lane?.outcome === "open") endLane(lane, event, "closed");
    } else if (event.kind === "ended") {
      for (const lane of lanes.values()) if (lane.outcome === "open") Object.assign(lane, { to: event.time_ms, outcome: "unfinished" });
      endLane(lanes.get(1), event, event.error ? "failed" : words(execution?.ended_ms ? execution.state : "done"));
    } else if (lanes.has(event.ref)) {
      endLane(lanes.get(event.ref), event, event.error ? "failed" : "done");
    } else if (event.kind !== "return") {
      const lane = newLane(event);
      lanes.set(event.id, lane);
      if (event.kind !== "cancel_requested") byCommand.set(command(event.ordinal), lane);
    }
  }
  for (const activity of activities) {
    const lane = lanes.get(activity.activity_id);
    if (lane?.outcome === "open") lane.open = activity;
  }
  return [...lanes.values()];
}

/** Attempts, and what hides behind them: each attempt that no failure explains is a hand-over after a process died,
 * stopped, or gave the work back. */
function attemptText(activity) {
  const retries = (activity.retry_attempt ?? 1) - 1;
  const again = Math.max(0, activity.attempt - 1 - retries);
  const parts = [activity.state + (textOf(activity, "node") && ` on ${shown(activity, "node")}`)];
  if (activity.outside_since_ms) parts.push(`left ${agoText(activity.outside_since_ms)} for an answer from outside`);
  if (retries > 0) parts.push(`${many(retries, "failed attempt")}`);
  if (again > 0) parts.push(`handed over again ${again}× (a process died or stopped)`);
  return parts.join(" · ");
}

function laneSummary(lane) {
  const last = lane.events.at(-1);
  const took = lane.to == null ? `for ${duration(Date.now() - lane.from)}` : lane.instant ? "" : `in ${duration(lane.to - lane.from)}`;
  const outcome = lane.outcome === "failed" ? `failed: ${words(last.error ?? "")}` : lane.outcome;
  return { outcome: lane.instant ? "" : outcome, took, attempts: lane.open ? attemptText(lane.open) : "" };
}

// --- the timeline

const LANE = 22; // pixels of height
const AXIS_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5];

/** Lanes over time. Draws only what is in sight, so a history of any length is smooth. */
class Timeline {
  all = [];
  lanes = []; // of the kinds that are not hidden
  hidden = new Set();
  window = null; // null: all of it
  chosen = 0;

  constructor(choose) {
    this.axis = s("svg", { class: "axis", height: 24, "aria-hidden": "true" });
    this.drawing = s("svg", { "aria-hidden": "true" });
    this.body = h("div", { class: "lanes", tabindex: 0, role: "group", "aria-label": "Timeline: plus, minus and 0 zoom, left and right move. The table below has the same events.",
      onscroll: () => this.draw(), onkeydown: (event) => this.key(event), onpointermove: (event) => this.point(event), onpointerleave: hideTip,
      onpointerdown: () => (this.dragged = 0), onclick: (event) => this.laneAt(event) && this.dragged < 4 && choose(this.laneAt(event).id) }, this.drawing);
    this.body.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.legend = group("What is shown", "legend");
    const tools = line(button("−", () => this.zoom(2), { "aria-label": "Zoom out" }), button("+", () => this.zoom(0.5), { "aria-label": "Zoom in" }), button("All", () => this.zoom(Infinity)));
    this.root = h("div", {}, h("div", { class: "head tools" }, this.legend, span("grow"), tools), h("div", { class: "timeline" }, this.axis, this.body));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.body);
  }

  show(lanes) {
    this.all = lanes;
    this.lanes = lanes.filter((lane) => !this.hidden.has(lane.group));
    const kinds = Object.keys(GROUPS).filter((kind) => lanes.some((lane) => lane.group === kind));
    keyed(this.legend, kinds.map((key) => ({ key, on: !this.hidden.has(key) })), ({ key, on }) => {
      const swatch = s("svg", { "aria-hidden": "true" }, s("rect", { fill: `var(--${key})`, width: 10, height: 10, rx: 2 }));
      return [button([swatch, GROUPS[key]], () => this.toggle(key), pressed(on))];
    }, () => h("span"));
    this.draw();
  }
  toggle(kind) {
    if (!this.hidden.delete(kind)) this.hidden.add(kind);
    this.show(this.all);
  }
  reveal(id) {
    this.chosen = id;
    const top = this.lanes.findIndex((lane) => lane.id === id) * LANE;
    if (top >= 0 && (top < this.body.scrollTop || top + LANE > this.body.scrollTop + this.body.clientHeight)) this.body.scrollTop = top - LANE * 3;
    this.draw();
  }

  end(lane) {
    return lane.to ?? Math.max(Date.now(), lane.from);
  }
  whole() {
    const from = Math.min(...this.all.map((lane) => lane.from));
    const to = Math.max(from + 1, ...this.all.map((lane) => this.end(lane)));
    return [from - (to - from) * 0.01, to + (to - from) * 0.04];
  }
  range() {
    return this.window ?? (this.all.length ? this.whole() : [0, 1]);
  }
  labelWidth() {
    return Math.round(Math.min(260, this.body.clientWidth * 0.34));
  }
  plotWidth() {
    return Math.max(40, this.body.clientWidth - this.labelWidth());
  }
  /** `at` is the part of the width that stays where it is. */
  zoom(factor, at = 0.5) {
    const [from, to] = this.range();
    const [first, last] = this.whole();
    const wanted = Math.max(2, (to - from) * factor);
    const begin = from + (to - from - wanted) * at;
    this.window = wanted < last - first ? [begin, begin + wanted] : null;
    this.move(0);
  }
  /** By a part of what is in sight. */
  move(part) {
    if (this.window) {
      const [from, to] = this.window;
      const [first, last] = this.whole();
      const begin = Math.max(first, Math.min(from + part * (to - from), last - (to - from)));
      this.window = [begin, begin + to - from];
    }
    this.draw();
  }
  key(event) {
    const keys = { "+": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.zoom(Infinity), ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2) };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  }
  wheel(event) {
    if (!event.ctrlKey && !event.shiftKey && !event.deltaX) return;
    event.preventDefault();
    const at = (event.clientX - this.body.getBoundingClientRect().left - this.labelWidth()) / this.plotWidth();
    if (event.ctrlKey) this.zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.max(0, Math.min(1, at)));
    else this.move((event.deltaX || event.deltaY) / this.plotWidth());
  }
  laneAt(event) {
    return this.lanes[Math.floor((event.clientY - this.drawing.getBoundingClientRect().top) / LANE)];
  }
  point(event) {
    const lane = this.laneAt(event);
    if (event.buttons & 1) {
      this.dragged += Math.abs(event.movementX);
      return this.move(-event.movementX / this.plotWidth());
    }
    if (!lane) return hideTip();
    const { outcome, took, attempts } = laneSummary(lane);
    showTip(event, [`#${lane.id} ${lane.label}`, `${outcome} ${took}`.trim(), attempts, clock(lane.from).exact, shown(lane.events.at(-1), "payload")].filter(Boolean).join("\n"));
  }

  draw() {
    if (!this.body.clientWidth) return;
    set(this.drawing, { height: Math.max(this.lanes.length, 1) * LANE });
    const from = Math.max(0, Math.floor(this.body.scrollTop / LANE) - 2);
    const to = Math.min(this.lanes.length, from + Math.ceil(this.body.clientHeight / LANE) + 4);
    const ticks = this.ticks();
    this.axis.replaceChildren(...ticks.map(({ x, label }) => s("text", { x: x + 3, y: 16 }, label)));
    this.drawing.replaceChildren(...ticks.map(({ x }) => s("line", { class: "grid", x1: x, x2: x, y1: from * LANE, y2: to * LANE })), ...this.lanes.slice(from, to).map((lane, i) => this.drawLane(lane, from + i)));
  }
  ticks() {
    const [from, to] = this.range();
    const most = this.plotWidth() / 90;
    const step = AXIS_STEPS.find((one) => (to - from) / one <= most) ?? 864e5 * Math.ceil((to - from) / 864e5 / most);
    const zero = this.all[0]?.from ?? 0;
    const ticks = [];
    for (let at = zero + Math.max(0, Math.ceil((from - zero) / step)) * step; at < to; at += step)
      ticks.push({ x: this.labelWidth() + this.x(at), label: at === zero ? clock(zero).hour : `+${duration(at - zero)}` });
    return ticks;
  }
  /** In pixels of the plot, a little beyond its sides at most. */
  x(value) {
    const [from, to] = this.range();
    return Math.max(-6, Math.min(((value - from) / (to - from)) * this.plotWidth(), this.plotWidth() + 6));
  }
  drawLane(lane, at) {
    const [left, width] = [this.labelWidth(), this.plotWidth()];
    const x1 = this.x(lane.from);
    const x2 = Math.max(x1 + 4, this.x(this.end(lane)));
    const fill = `var(--${lane.group})`;
    const mark = lane.instant ? s("path", { fill, d: `M${x1} 5l6 6-6 6-6-6z` }) : s("rect", { class: `bar ${lane.outcome}`, fill, x: x1, y: 5, width: x2 - x1, height: 12, rx: 3 });
    const isPlanned = lane.plan > Date.now() && lane.outcome === "open";
    return s("g", { class: `lane${at % 2 ? " odd" : ""}${lane.id === this.chosen ? " chosen" : ""}`, transform: `translate(0 ${at * LANE})` },
      s("rect", { class: "back", width: left + width, height: LANE }),
      s("svg", { width: left - 6, height: LANE }, s("text", { x: 14 + Math.min(lane.events[0].branch ?? 0, 3) * 8, y: 15 }, lane.label)),
      s("svg", { x: left, width, height: LANE }, isPlanned && s("rect", { class: "plan", x: x2, y: 5.5, width: Math.max(0, this.x(lane.plan) - x2), height: 11 }), mark, this.remark(lane, x1, x2)));
  }
  /** What stands beside the bar, or on it where there is no room beside it. */
  remark(lane, x1, x2) {
    if (lane.instant) return "";
    const { outcome, took, attempts } = laneSummary(lane);
    const texts = { failed: `✕ ${outcome}`, open: attempts || `open ${took}`, done: took.slice(3) };
    const text = texts[lane.outcome] ?? outcome;
    const width = text.length * 6.6;
    const x = x2 + 6 + width < this.plotWidth() ? x2 + 6 : x1 - 6 - width > 0 ? x1 - 6 - width : Math.max(x1, 0) + 10;
    const pill = x > x1 && x < x2 && s("rect", { class: "pill", x: x - 5, y: 3, width: width + 10, height: 16, rx: 4 });
    return [pill, s("text", { class: lane.outcome === "failed" ? "alarm" : "faint", x, y: 15 }, text)];
  }
}

function showTip(event, text) {
  const tip = byId("tip");
  setText(tip, text);
  tip.hidden = false;
  const [x, y] = [event.clientX + 14, event.clientY + 18];
  tip.style.left = `${Math.max(4, Math.min(x, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${y + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 28 : y}px`;
}
const hideTip = () => (byId("tip").hidden = true);

// --- one instance

/** The history of one execution, as far as it is known; asks only for what is new. */
class Loaded {
  execution = 0;
  events = [];
  async follow(path, execution, signal) {
    if (execution !== this.execution) Object.assign(this, { execution, events: [] });
    const bounds = { after: this.events.at(-1)?.id, most: EVENTS_MAX - this.events.length, calls: Infinity };
    this.events.push(...(await gather(`${path}/history`, "events", { execution }, signal, bounds)).rows);
  }
}

const fact = (title, value) => !!value && h("div", {}, h("dt", {}, title), h("dd", {}, value));
const lasts = (title, ms) => fact(title, ms && duration(ms));

function instanceHead({ instance, status, stats }) {
  const isOver = ["completed", "failed"].includes(status.state);
  const outcome = [["custom_status", "Custom status"], ["output", status.error ? `Error: ${words(status.error)}` : "Output"]].filter(([key]) => textOf(status, key));
  return [h("dl", { class: "facts" },
    fact("Orchestration", `${shown(instance, "name", 300)} ${shown(instance, "version")}`),
    fact("Created", ago(instance.created_ms)), fact(isOver ? "Ended" : "Updated", ago(instance.updated_ms)),
    lasts("Took", isOver && instance.updated_ms - instance.created_ms),
    fact("Parent", textOf(instance, "parent_id") && instanceLink(instance, "parent_id")),
    fact("History", `${many(stats.history_events, "event")}, ${size(stats.history_bytes)}`),
    lasts("Time limit", instance.time_limit_ms), lasts("Time left", instance.time_left_ms),
    fact("Messages waiting", stats.messages_waiting), fact("Unread messages", instance.unread_messages), fact("Timers that wait for a clock", instance.timers_without_clock)),
  h("div", { class: "outcome" }, outcome.map(([key, title]) => [h("h3", { class: key === "output" && status.error ? "small error" : "small dim" }, title), textBlock(textOf(status, key))]))];
}

const OPEN = ["running", "suspended", "stopped"];
const REASON = [{ name: "reason", label: "Reason, kept in its history" }];
/** What an operator may do to an instance: the last part of the path, in which states, what it means. */
const ACTIONS = {
  Suspend: { states: ["running"], why: "No turn runs until it is resumed; messages and timers wait." },
  Resume: { states: ["suspended", "stopped"], why: "It goes on." },
  Restart: { states: ["failed"], why: "It goes on from before its failure; what had succeeded is not done again.", query: { from: "last_good_event" } },
  Cancel: { states: OPEN, why: "Its code is asked to stop, and may put things right first.", fields: REASON },
  Terminate: { states: OPEN, why: "It ends now as failed; none of its code runs any more.", fields: REASON },
};

function instanceActions(path, id, state) {
  const raise = action("Raise event", { text: `Instance ${id}`, fields: [{ name: "name", label: "Name" }, { name: "payload", label: "Payload", tag: "textarea" }] },
    (given) => ({ path: `${path}/events/${encodeURIComponent(given.name)}`, body: given.payload }));
  const others = Object.entries(ACTIONS).filter(([, action]) => action.states.includes(state)).map(([verb, { why, fields, query }]) =>
    action(verb, { title: `${verb} this instance?`, text: `Instance ${id}. ${why}`, yes: `${verb} it`, danger: fields, fields },
      (given) => ({ path: withQuery(`${path}/${verb.toLowerCase()}`, { ...query, ...given }) })));
  return [OPEN.includes(state) && raise, ...others];
}

function laneDetail(lane, id, execution) {
  const { outcome, took, attempts } = laneSummary(lane);
  const first = lane.events[0];
  const pairs = { Outcome: `${outcome} ${took}`.trim(), Attempts: attempts, Began: clock(lane.from).exact, Session: shown(first, "session", 600), Tag: shown(first, "tag", 600), Branch: first.branch,
    Progress: shown(lane.open ?? {}, "last_progress", 600), "Last error": shown(lane.open ?? {}, "last_error", 600) };
  return [h("h3", {}, `#${lane.id} ${lane.label}`),
    h("dl", { class: "pairs" }, Object.entries(pairs).filter(([, value]) => value).map(([title, value]) => [h("dt", {}, title), h("dd", {}, value)])),
    first.kind === "child" ? h("p", {}, "Child: ", instanceLink({ id: textOf(first, "session") || `${id}::${execution}.${first.id}` })) : "",
    ...lane.events.filter((event) => textOf(event, "payload")).map((event) => h("div", {}, h("p", { class: "small dim" }, `#${event.id} ${words(event.kind)}${event.error ? `: ${words(event.error)}` : ""}`), textBlock(textOf(event, "payload"))))];
}

function eventCells(row, choose) {
  const error = row.error ? `: ${words(row.error)}` : "";
  return [td(button(`#${row.id}`, () => choose(row.id), { class: "link" })), h("td", { class: "mono", title: clock(row.time_ms).day }, clock(row.time_ms).exact.slice(11)), h("td", { class: row.error && "error" }, words(row.kind) + error),
    td(span("clip", shown(row, "name"))), wide(row.ref ? `#${row.ref}` : span("clip", shown(row, "session"))), td(span("clip mono", shown(row, "payload")))];
}

/** The events as a table, a page of it at a time. */
function eventTable(choose) {
  const list = table("Events", [["Event"], ["Time"], ["Kind"], ["Name"], ["Refers to", "wide"], ["Payload"]]);
  const place = span("dim small");
  let events = [];
  let page = 0;
  const draw = (to = page) => {
    const pages = Math.max(1, Math.ceil(events.length / EVENT_ROWS));
    page = Math.max(0, Math.min(to, pages - 1));
    keyed(list.body, events.slice(page * EVENT_ROWS, (page + 1) * EVENT_ROWS), (row) => eventCells(row, choose));
    setText(place, `${many(events.length, "event")}${pages > 1 ? `, page ${page + 1} of ${pages}` : ""}`);
    back.disabled = !page;
    next.disabled = page + 1 === pages;
  };
  const back = button("Previous", () => draw(page - 1));
  const next = button("Next", () => draw(page + 1));
  const choosing = (id) => {
    draw(Math.floor(events.findIndex((row) => row.id === id) / EVENT_ROWS));
    for (const row of list.body.children) set(row, { "aria-selected": row.dataset.key === String(id) && "true" });
  };
  return { root: card("Events", list.root, bar(place, span("grow"), back, next)), show: (rows) => ((events = rows), draw()), choose: choosing };
}

/** The instances that it started, and the sessions that it opened. */
function relations(path, segment) {
  const parts = [
    { title: "Children", list: table("Children", INSTANCE_HEAD), address: `${path}/children`, name: "instances", cells: instanceCells, kinds: ["child", "detached"] },
    { title: "Sessions", list: table("Sessions of this instance", SESSION_HEAD), address: `/v1/sessions?instance=${segment}`, name: "sessions", cells: sessionCells, kinds: ["session_open"] },
  ].map((part) => ({ ...part, root: card(part.title, part.list.root) }));
  const refresh = async (events, signal) => {
    for (const { list, address, name, cells, kinds, root } of parts) {
      const { rows } = events.some((event) => kinds.includes(event.kind)) ? await gather(address, name, {}, signal, { most: PAGE_ROWS }) : { rows: [] };
      keyed(list.body, rows, cells);
      root.hidden = !rows.length;
    }
  };
  return { cards: parts.map(({ root }) => root), refresh };
}

/** Why it does not go on: a row for each thing that it waits for, and what helps. */
function causesCard(path) {
  const list = h("ul", { class: "causes" });
  const root = card("Waits for", list);
  const texts = (row) => [textOf(row, "name") && span("mono", shown(row, "name", 300)), row.kind === "child" ? instanceLink(row, "subject") : shown(row, "subject", 300),
    row.node && `on ${shown(row, "node", 100)}`, row.attempt && `attempt ${count(row.attempt)}`, row.since_ms && ago(row.since_ms),
    row.ends_in_ms != null && `by itself in ${seconds(Math.max(0, row.ends_in_ms))}`].filter(Boolean);
  const refresh = async (state, signal) => {
    root.hidden = state === "completed";
    if (root.hidden) return;
    const { causes } = await call(`${path}/causes`, { signal });
    keyed(list, causes.map((row, at) => ({ ...row, key: at })), (row) => [
      line(badge(row.kind), ...texts(row)), textOf(row, "error") && textBlock(textOf(row, "error")), h("p", { class: "dim" }, row.help)], () => h("li"));
  };
  return { root, refresh };
}

/** The executions; null is the current one. */
function executionTabs(choose) {
  const root = group("Execution", "tabs");
  const show = ({ executions, instance }, current) => keyed(root, executions.map((row) => ({ ...row, on: row.execution_id === current })), (row) => {
    const id = row.execution_id;
    return [button(id, () => choose(id === instance.execution_id ? null : id), { ...pressed(row.on), title: clock(row.started_ms).exact }), badge(row.state)];
  }, () => span("row"));
  return { root, show };
}

function instanceView(route) {
  const path = `/v1/instances/${route.segment}`;
  const history = new Loaded();
  const isChanged = changes();
  const isOther = changes();
  let answer = {};
  let wanted = null;
  const choose = (id) => {
    const lane = timeline.all.find((one) => one.events.some((event) => event.id === id));
    timeline.reveal(lane?.id);
    events.choose(id);
    showDetail(lane);
  };
  const showDetail = (lane) => {
    detail.hidden = !lane;
    if (lane && isOther([lane.events, lane.open])) redraw(detail, laneDetail(lane, textOf(answer.instance, "id"), history.execution));
  };
  const timeline = new Timeline(choose);
  const events = eventTable(choose);
  const executions = executionTabs((execution) => ((wanted = execution), poller.soon()));
  const related = relations(path, route.segment);
  const causes = causesCard(path);
  const values = table("Values", [["Key"], ["Value"], ["Updated"]]);
  const head = card("");
  const detail = h("div", { class: "detail", hidden: true });
  const valueCard = card("Values", values.root);
  const none = h("p", { class: "card empty" }, "No instance has this id.");
  const all = [head, causes.root, card("", bar(h("h2", {}, "Timeline"), executions.root), timeline.root, detail), ...related.cards, valueCard, events.root];
  const root = h("div", { class: "view" });
  const show = async (execution, signal) => {
    // One that was just created has no history yet.
    if (answer.executions.some((row) => row.execution_id === execution)) await history.follow(path, execution, signal);
    await related.refresh(history.events, signal);
    document.title = `${shown(answer.instance, "id", 60)} · Pawl`;
    redraw(head, [bar(h("h1", { class: "mono" }, shown(answer.instance, "id", 600)), badge(answer.status.state), span("grow"), line(...instanceActions(path, shown(answer.instance, "id"), answer.status.state))), ...instanceHead(answer)]);
    executions.show(answer, execution);
    keyed(values.body, answer.values, (row) => [cell("mono", shown(row, "key", 300)), cell("text", textBlock(textOf(row, "value"))), td(ago(row.updated_ms))]);
    valueCard.hidden = !answer.values.length;
    events.show(history.events);
  };
  const refresh = async (signal) => {
    answer = await call(path, { signal }).catch((error) => error.status !== 404 && Promise.reject(error));
    const parts = answer ? all : [none];
    if (!parts[0].isConnected) root.replaceChildren(...parts);
    if (!answer) return false;
    const execution = wanted ?? answer.instance.execution_id;
    const changed = isChanged([answer, execution]);
    if (changed) await show(execution, signal);
    await causes.refresh(answer.status.state, signal);
    timeline.show(lanesOf(history.events, answer.executions.find((row) => row.execution_id === execution), wanted ? [] : answer.activities));
    if (!detail.hidden) showDetail(timeline.all.find((lane) => lane.id === timeline.chosen));
    return changed;
  };
  return { root, refresh, leave: () => (timeline.observer.disconnect(), hideTip()) };
}

// --- sessions by worker

const SESSION_HEAD = [["State"], ["Session"], ["Owner"], ["Epoch", "num"], ["Activities", "num"], ["Quiet for", "num"], [""]];

function sessionCells(row) {
  const marks = [row.device && "device", row.exclusive && "exclusive", shown(row, "kind", 40), row.owner_label && `of ${shown(row, "owner_label", 40)}`, row.expires_in_ms != null && `expires in ${seconds(row.expires_in_ms)}`];
  const waits = row.waits_for_ms != null;
  return [td(badge(waits ? "waiting" : row.stopping ? "moving" : row.state)),
    td(span("clip mono", shown(row, "name", 300)), textOf(row, "instance_id") && [span("small dim", " opened by "), instanceLink(row, "instance_id")]),
    td(waits ? span("waiting", `waits for ${seconds(row.waits_for_ms)}`) : shown(row, "node") || span("dim", "none")),
    num(row.epoch), num(count(row.activities)), num(seconds(row.quiet_for_ms)), cell("small dim", marks.filter(Boolean).join(" · "))];
}

/** Changes of owners, as this page saw them: the endpoint shows only how it is now. */
const moves = { seen: new Map(), list: [] };
function noteMoves(rows) {
  for (const row of rows) {
    const before = moves.seen.get(row.key);
    const node = shown(row, "node");
    if (before && before.epoch !== row.epoch) moves.list.unshift({ at: Date.now(), key: `${row.key}.${row.epoch}`, name: shown(row, "name"), from: before.node, to: node, epoch: row.epoch });
    moves.seen.set(row.key, { epoch: row.epoch, node: node || before?.node || "" });
  }
  moves.list.splice(50);
}

function workerHead(worker) {
  const verb = worker.draining ? "Undrain" : "Drain";
  const why = worker.draining ? "takes new work again." : "takes nothing new, and its sessions move away.";
  const drain = action(verb, { title: `${verb} this worker?`, text: `${textOf(worker, "node")} ${why}`, danger: !worker.draining }, () => ({ path: `/v1/workers/${segmentOf(worker, "node")}/${verb.toLowerCase()}` }));
  const tags = worker.tags.map((tag) => visible(cut(tag.base64 ?? tag, 40))).join(", ");
  return [h("h2", { class: "mono" }, shown(worker, "node")), badge(worker.disconnected ? "disconnected" : worker.draining ? "draining" : "serving"), span("dim", `pid ${worker.pid} ${worker.address ?? ""}`),
    span("", `${worker.sessions} of ${many(worker.sessions_max, "session")} · ${worker.sessions_busy} busy · ${many(worker.devices, "device")}`), span("dim small", tags && `tags ${tags}`),
    span("grow"), drain];
}

/** A card for a worker, or for what has none. */
function workerCard({ title }) {
  const list = table(`Sessions of ${title}`, SESSION_HEAD);
  const [head, empty, isOther] = [bar(), h("p", { class: "empty" }, "No sessions."), changes()];
  const show = (worker, rows) => {
    if (isOther({ ...worker, lease_ends_in_ms: 0 })) redraw(head, worker ? workerHead(worker) : [h("h2", {}, "Without a worker"), span("dim", "Sessions that wait have work, and no worker that takes it.")]);
    keyed(list.body, rows.slice(0, EVENT_ROWS), sessionCells);
    list.root.hidden = !rows.length;
    empty.hidden = rows.length > 0;
  };
  return Object.assign(h("section", { class: "card worker" }, head, list.root, empty), { show });
}

function sessionsView() {
  const groups = h("div", { class: "view" });
  const trail = table("Moves", [["When"], ["Session"], ["From"], ["To"], ["Epoch", "num"]]);
  const trailCard = card("Moves seen by this page", trail.root);
  const isChanged = changes();
  const refresh = async (signal) => {
    const [{ workers }, { rows }] = await Promise.all([call("/v1/workers", { signal }), gather("/v1/sessions", "sessions", {}, signal)]);
    noteMoves(rows);
    const known = workers.map((worker) => ({ key: worker.incarnation, title: shown(worker, "node"), worker }));
    const others = rows.filter((row) => !known.some((group) => group.title === shown(row, "node")));
    if (others.length || !known.length) known.unshift({ key: "none", title: "no worker" });
    keyed(groups, known, null, workerCard);
    known.forEach(({ worker, title }, i) => groups.children[i].show(worker, worker ? rows.filter((row) => shown(row, "node") === title) : others));
    keyed(trail.body, moves.list, (row) => [td(ago(row.at)), cell("mono", row.name), td(row.from || "–"), td(row.to || "no owner"), num(row.epoch)]);
    trailCard.hidden = !moves.list.length;
    return isChanged([workers.map((worker) => worker.draining), rows.map((row) => [row.key, row.epoch, row.state, row.activities])]);
  };
  return { root: h("div", { class: "view" }, groups, trailCard), refresh };
}

// --- rates

const samples = []; // answers of /v1/runtime; kept while the page is open
const CHARTS = ["commits", "flushes", "bytes_written", "turns", "activities_completed", "orchestrations_completed"];
const TILES = ["instances_running", "messages_waiting", "timers_waiting", "activities_running", "activities_ready", "activities_delayed", "activities_outside", "sessions_active", "sessions_waiting", "events", "used_bytes", "log_bytes", "quota_bytes"];
const isBytes = (key) => key.includes("bytes");
const rateText = (key, rate) => `${isBytes(key) ? size(rate) : rate < 10 ? rate.toFixed(1) : count(Math.round(rate))}/s`;

/** A small chart of one counter's rate. */
function chart(key) {
  const now = span("now", "…");
  const drawing = s("svg", { "aria-hidden": "true" });
  const draw = () => {
    const rates = samples.slice(1).map((sample, i) => (1000 * Math.max(0, sample[key] - samples[i][key])) / Math.max(1, sample.now_ms - samples[i].now_ms));
    if (!rates.length) return;
    const [width, height] = [drawing.clientWidth || 300, 120];
    const most = Math.max(isBytes(key) ? 1024 : 1, ...rates);
    const x = (i) => width - (rates.length - 1 - i) * (width / (Math.max(30, rates.length) - 1));
    const y = (rate) => height - 4 - (rate / most) * (height - 26);
    const points = rates.map((rate, i) => `${x(i).toFixed(1)} ${y(rate).toFixed(1)}`).join("L");
    setText(now, rateText(key, rates.at(-1)));
    drawing.replaceChildren(s("line", { class: "grid", x1: 0, x2: width, y1: y(most), y2: y(most) }), s("text", { x: 14, y: y(most) - 5 }, rateText(key, most)),
      s("path", { class: "area", d: `M${x(0)} ${height}L${points}V${height}Z` }), s("path", { class: "curve", d: `M${points}` }));
  };
  return { root: h("section", { class: "card chart" }, bar(h("h2", {}, words(key[0].toUpperCase() + key.slice(1))), span("grow"), now), drawing), draw };
}

function ratesView() {
  const tiles = h("div", { class: "tiles" });
  const charts = CHARTS.map(chart);
  const about = h("p", { class: "dim small" });
  const all = h("div", { class: "charts" }, charts.map(({ root }) => root));
  let hasRuntime = true;
  const sample = async (signal) => {
    const runtime = await call("/v1/runtime", { signal });
    if (samples.at(-1)?.now_ms > runtime.now_ms) samples.length = 0; // another boot
    samples.push(runtime);
    samples.splice(0, samples.length - SAMPLES - 1);
    setText(about, `Of the runtime of this process, ${shown(runtime, "worker")}${runtime.ready ? "" : ", which is not ready"}; ${seconds(runtime.now_ms - samples[0].now_ms)} in sight.`);
    charts.forEach(({ draw }) => draw());
  };
  const refresh = async (signal) => {
    const metrics = await call("/v1/metrics", { signal });
    const keys = TILES.filter((key) => key !== "quota_bytes" || metrics[key]);
    keyed(tiles, keys.map((key) => ({ key, value: metrics[key] })), ({ key, value }) => [h("b", {}, isBytes(key) ? size(value) : count(value)), span("small dim", words(key))], () => h("div", { class: "card tile" }));
    if (hasRuntime) await sample(signal).catch((error) => {
      if (error.status !== 404) throw error;
      hasRuntime = false;
      setText(about, "The process of this endpoint runs no runtime, so it counts no rates.");
    });
    all.hidden = !hasRuntime;
  };
  return { root: h("div", { class: "view" }, tiles, about, all), refresh };
}

// --- the frame

const VIEWS = { instances: instancesView, instance: instanceView, sessions: sessionsView, rates: ratesView };

function routeOf(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  const [view, segment = ""] = path.split("/");
  return { view: view in VIEWS ? view : "instances", segment, query: new URLSearchParams(query) };
}

function show() {
  const route = routeOf(location.hash);
  for (const link of document.querySelectorAll("nav a")) set(link, { "aria-current": link.hash === `#/${route.view === "instance" ? "instances" : route.view}` ? "page" : null });
  document.title = `Pawl · ${route.view}`;
  const view = VIEWS[route.view](route);
  byId("view").replaceChildren(view.root);
  poller.show(view);
}

addEventListener("hashchange", show);
document.addEventListener("visibilitychange", () => poller.schedule(0));
set(byId("forget"), { onclick: () => (sessionStorage.removeItem(TOKEN), poller.soon()) });
setInterval(keepAgo, 1000);
show();
