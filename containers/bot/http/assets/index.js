// The index of runs, kept current by its feed. Rows are those the server rendered, changed in place.
import { clockTime, el, localTimes, statusText } from "./dom.js";
import { keepOpen } from "./stream.js";

const list = document.getElementById("runs");
const empty = document.getElementById("empty");
const connection = document.getElementById("connection");
const { part } = list.dataset;
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
  if (known) known.replaceWith(row);
  else list.insertBefore(row, [...list.children].find((other) => comesAfter(other, run)) ?? null);
}

function comesAfter(row, run) {
  return row.dataset.finished !== undefined || Number(row.dataset.started) <= run.startedAt;
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
  const took = el("span", { class: "took" }, clockTime((run.finishedAt ?? Date.now()) - run.startedAt));
  return el("li", { "data-id": run.id, "data-status": run.status, "data-started": run.startedAt, "data-finished": run.finishedAt },
    el("a", { href: run.url },
      el("span", { class: "status", "data-status": run.status }, statusText(run.status)),
      el("span", { class: "label" }, run.label),
      facts,
      el("span", { class: "when" }, time, " ", took)));
}

function tick() {
  for (const row of list.children) {
    if (row.dataset.finished === undefined) row.querySelector(".took").textContent = clockTime(Date.now() - Number(row.dataset.started));
  }
}
