// The index of runs, kept current by its feed. Rows are those the server rendered, changed in place.
import { clockTime, el, localTimes, sinceTime, statusText } from "./dom.js";
import { keepOpen } from "./stream.js";

const list = document.getElementById("runs");
const empty = document.getElementById("empty");
const connection = document.getElementById("connection");
const { part } = list.dataset;
/** Whether there are older runs on further pages. */
const hasOlder = document.querySelector(".older") !== null;
const query = new URLSearchParams(location.search);
let opened = false;

localTimes(document);
if (!query.has("before")) follow();

function follow() {
  query.set("stream", "1");
  const open = () => {
    const source = new EventSource(`/runs?${query}`);
    source.onmessage = ({ data }) => receive(JSON.parse(data));
    return source;
  };
  keepOpen(open, {
    connected: () => {
      // The feed does not report the runs that ended while it was away, so an index of active runs starts over.
      if (opened && part === "active") list.replaceChildren();
      opened = true;
      connect("live", "Live");
    },
    reconnecting: () => connect("reconnecting", "Reconnecting…"),
    lost: () => connect("lost", "Disconnected. Reload the page to try again."),
  });
  setInterval(tick, 1000);
}

function receive(change) {
  if (change.type === "upsert") upsert(change.run);
  else if (change.type === "removed") remove(change.id);
  empty.hidden = list.childElementCount > 0;
}

function connect(state, text) {
  connection.dataset.state = state;
  connection.textContent = text;
}

function find(id) {
  return [...list.children].find((row) => row.dataset.id === id);
}

function upsert(run) {
  const known = find(run.id);
  const isFinished = run.finishedAt !== undefined;
  // A row that changes its part stays until the page is loaded again.
  if (!known && part !== "all" && isFinished !== (part === "finished")) return;
  const row = render(run);
  localTimes(row);
  if (known && (part !== "all" || (known.dataset.finished !== undefined) === isFinished)) return known.replaceWith(row);
  const next = [...list.children].find((other) => other !== known && comesAfter(other, run)) ?? null;
  known?.remove();
  // A finished run after the last row is on a further page.
  if (next || !isFinished || !hasOlder) list.insertBefore(row, next);
}

/** The order of the server: live runs by their start, then finished ones by their end, newest first. */
function comesAfter({ dataset }, run) {
  if (run.finishedAt === undefined) return dataset.finished !== undefined || isBelow(Number(dataset.started), dataset.id, run.startedAt, run.id);
  return dataset.finished !== undefined && isBelow(Number(dataset.finished), dataset.id, run.finishedAt, run.id);
}

function isBelow(time, id, otherTime, otherId) {
  return time < otherTime || (time === otherTime && id < otherId);
}

/** A finished run that leaves the registry is history: it stays on an index of finished runs. */
function remove(id) {
  if (part === "active") find(id)?.remove();
}

function render(run) {
  const facts = el("span", { class: "facts" });
  if (run.queue) facts.append(el("span", { class: "queue" }, run.queue));
  if (run.model?.startsWith("rehearsal/")) facts.append(el("span", { class: "tag" }, "rehearsal"));
  for (const fact of [run.agent, run.model, run.repo]) if (fact) facts.append(el("span", {}, fact));
  const time = el("time", { datetime: new Date(run.startedAt).toISOString() });
  const took = el("span", { class: "took" }, run.finishedAt === undefined ? sinceTime(run.startedAt) : clockTime(run.finishedAt - run.startedAt));
  return el("li", { "data-id": run.id, "data-status": run.status, "data-started": run.startedAt, "data-finished": run.finishedAt },
    el("a", { href: run.url },
      el("span", { class: "status", "data-status": run.status }, statusText(run.status)),
      el("span", { class: "label" }, run.label),
      facts,
      el("span", { class: "when" }, time, " ", took)));
}

function tick() {
  for (const row of list.children) {
    if (row.dataset.finished === undefined) row.querySelector(".took").textContent = sinceTime(Number(row.dataset.started));
  }
}
