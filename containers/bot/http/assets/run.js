// The page of one run. It shows the events embedded in the page. Live, it then follows the run's stream and offers to
// control the run; finished, it opens no stream.
import { offerControl } from "./control.js";
import { clockTime, localTimes, sinceTime, statusText } from "./dom.js";
import { Facts } from "./facts.js";
import { Log } from "./log.js";
import { Queued } from "./queued.js";
import { Slices } from "./slices.js";
import { keepOpen } from "./stream.js";
import { Transcript } from "./transcript.js";

const root = document.getElementById("run");
const rehearsal = root.dataset.rehearsal !== undefined;
const started = Number(root.dataset.started);
const { events, published, earlierBefore, isEarlier, request, used } = JSON.parse(document.getElementById("events").textContent);
const isLive = root.dataset.mode === "live" && !isEarlier;
const transcript = new Transcript(document.getElementById("transcript"), { rehearsal, answerFirst: !isLive });
const facts = new Facts(document.getElementById("facts"), used);
const bar = document.getElementById("bar");
const clock = document.getElementById("clock");
const connection = document.getElementById("connection");
const CONNECTION = {
  "": "",
  connecting: "Connecting…",
  live: "Live",
  reconnecting: "Reconnecting…",
  lost: "Disconnected. Reload the page to try again.",
};
/** Seq of the last event that was queued. */
let lastSeq = earlierBefore === null ? 0 : earlierBefore - 1;
let finishedAt = null;

/** An earlier part of a run shows nothing of what became of messages. */
const queued = isEarlier ? null : new Queued(document.getElementById("queued"), document.getElementById("transcript"), published);
const slices = new Slices(apply, keepAtEnd);
localTimes(document);
show();

function apply(event) {
  transcript.apply(event);
  queued?.apply(event);
}

async function show() {
  if (request !== null) transcript.request(request);
  if (earlierBefore !== null) {
    transcript.offerEarlier(earlierBefore, loadEarlier);
    queued?.missed(earlierBefore - 1);
  }
  // A finished run begins with its answer, however many steps are shown after it.
  const answer = !isLive && events.find((event) => event.type === "answer");
  if (answer) transcript.answer(answer.text);
  for (const event of events) queue(event, slices);
  if (!isLive && published > lastSeq) slices.push(gap(lastSeq + 1, published));
  if (isLive) return follow();
  await slices.drained();
  transcript.end();
  queued?.end(root.dataset.status);
}

/** Queues an event, with a note if events are missing before it. */
function queue(event, into) {
  if (event.seq !== undefined) {
    if (event.seq > lastSeq + 1) into.push(gap(lastSeq + 1, event.seq - 1));
    lastSeq = event.seq;
  }
  into.push(event);
}

function gap(from, to) {
  const number = to - from + 1;
  return { type: "replay_note", summary: `${number} ${number === 1 ? "event is" : "events are"} not kept here`, missedTo: to };
}

/** Loads one page of the events before a seq and shows it. Returns the seq before which there are more, or null. */
async function loadEarlier(before) {
  const query = new URLSearchParams(location.search);
  query.set("before", String(before));
  const answer = await fetch(`${location.pathname}/earlier?${query}`, { cache: "no-store" });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const page = await answer.json();
  const log = new Log({ rehearsal });
  const earlier = new Slices((event) => log.apply(event));
  let last = page.earlierBefore === null ? 0 : page.earlierBefore - 1;
  for (const event of page.events) {
    if (event.seq > last + 1) earlier.push(gap(last + 1, event.seq - 1));
    last = event.seq;
    if (event.type === "context") transcript.apply(event);
    // The page shows its request already.
    else if (event.seq !== 1 || event.type !== "input") earlier.push(event);
  }
  await earlier.drained();
  transcript.prepend(log);
  return page.earlierBefore;
}

function follow() {
  const ticking = setInterval(tick, 1000);
  tick();
  connect("connecting");
  keepOpen(() => openStream(ticking), {
    connected: () => connect("live"),
    reconnecting: () => connect("reconnecting"),
    lost: () => connect("lost"),
    isOver: showsHistory,
  });
  if (bar) offerControl(bar, { stopping: () => showStatus("stopping"), sending });
}

/** Shows a message as queued. Returns what keeps it once it is accepted, and what removes it again. */
function sending(text) {
  const message = queued.add(text, lastSeq);
  return { accept: () => queued.accept(message), undo: () => queued.drop(message) };
}

/** Opens the stream after the last shown event. */
function openStream(ticking) {
  const query = new URLSearchParams(location.search);
  query.set("after", String(lastSeq));
  const source = new EventSource(`${location.pathname}/events?${query}`);
  source.onmessage = ({ data }) => receive(JSON.parse(data));
  source.addEventListener("replay_elided", ({ data }) => {
    const { fromSeq, toSeq } = JSON.parse(data);
    if (toSeq > lastSeq) {
      slices.push(gap(Math.max(fromSeq, lastSeq + 1), toSeq));
      lastSeq = toSeq;
    }
  });
  source.addEventListener("finished", async ({ data }) => {
    ({ finishedAt } = JSON.parse(data));
    clearInterval(ticking);
    tick();
    await slices.drained();
    transcript.end();
    settleStatus();
  });
  source.addEventListener("end", () => {
    source.close();
    connect("");
  });
  return source;
}

function receive(event) {
  // After a reconnect the server goes on after the last id. It goes back when the process died that had shown what came
  // after an earlier one: that was never stored, and other events have its numbers. The page begins anew.
  if (event.seq !== undefined && event.seq <= lastSeq) return location.reload();
  queue(event, slices);
  facts.add(event);
  if (event.type === "run_note" && event.kind === "queued") showQueue(event.summary);
}

/** Shows the place of a run that waits, by its note: "waiting for a free slot, position …". The last note has none. */
function showQueue(summary) {
  const place = summary.match(/position .*$/)?.[0] ?? "";
  document.getElementById("queue").textContent = place;
  const word = root.dataset.status;
  if (word === "queued" || word === "running") showStatus(place ? "queued" : "running");
}

function tick() {
  clock.textContent = finishedAt === null ? sinceTime(started) : clockTime(finishedAt - started);
}

/** A reader who is at the end of the page stays there; one who reads further up is left alone. */
function keepAtEnd(change) {
  const page = document.documentElement;
  const atEnd = isLive && page.scrollHeight - page.scrollTop - page.clientHeight < 80;
  change();
  if (atEnd && page.scrollHeight > page.clientHeight) page.scrollTop = page.scrollHeight;
}

function connect(state) {
  connection.dataset.state = state;
  connection.textContent = CONNECTION[state];
}

/** The server refused the stream. Shows the history if the run moved there, and returns whether it did. */
async function showsHistory() {
  const status = await finalStatus();
  if (status) location.replace(location.pathname);
  return Boolean(status);
}

async function finalStatus() {
  try {
    const answer = await fetch(location.pathname, { method: "HEAD", cache: "no-store" });
    return answer.headers.get("x-run-status");
  } catch {
    return null;
  }
}

async function settleStatus() {
  if (bar) bar.hidden = true;
  document.getElementById("queue").textContent = "";
  showStatus((await finalStatus()) ?? "finished");
  queued.end(root.dataset.status);
}

function showStatus(word) {
  const node = document.getElementById("status");
  root.dataset.status = word;
  node.dataset.status = word;
  node.textContent = statusText(word);
}
