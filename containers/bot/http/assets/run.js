// The page of one run. Live, it follows the run's stream and offers to stop it; finished, it reads the events
// embedded in the page and opens no stream. Both end in the same transcript.
import { clockTime, count, el, localTimes, statusText } from "./dom.js";
import { Transcript } from "./transcript.js";

const root = document.getElementById("run");
const rehearsal = root.dataset.rehearsal !== undefined;
const started = Number(root.dataset.started);
const transcript = new Transcript(document.getElementById("transcript"), { rehearsal });
const facts = document.getElementById("facts");
const clock = document.getElementById("clock");
const connection = document.getElementById("connection");
const totals = { calls: 0, input: 0, output: 0 };
const CONNECTION = {
  "": "",
  connecting: "Connecting…",
  live: "Live",
  reconnecting: "Reconnecting…",
  lost: "Disconnected. Reload the page to try again.",
};
let lastSeq = 0;
let finishedAt = null;

localTimes(document);
if (root.dataset.mode === "history") readHistory();
else follow();

function readHistory() {
  const { events, published } = JSON.parse(document.getElementById("events").textContent);
  for (const event of events) {
    if (event.seq > lastSeq + 1) gap(lastSeq + 1, event.seq - 1);
    apply(event);
  }
  if (published > lastSeq) gap(lastSeq + 1, published);
  transcript.end();
}

function apply(event) {
  if (event.seq !== undefined) {
    // After a reconnect the server goes on after the last id. It goes back when the process died that had shown what came
    // after an earlier one: that was never stored, and other events have its numbers. The page begins anew.
    if (event.seq <= lastSeq) return location.reload();
    lastSeq = event.seq;
  }
  transcript.apply(event);
  summarize(event);
}

function gap(from, to) {
  const number = to - from + 1;
  transcript.apply({ type: "replay_note", summary: `${number} ${number === 1 ? "event is" : "events are"} not kept here` });
}

function summarize(event) {
  if (event.type === "run_meta") {
    setFact("Effort", event.effort);
    setFact("Ref", event.ref);
    setFact("Commit", event.headSha?.slice(0, 12));
  } else if (event.type === "tool_call") {
    totals.calls += 1;
    setFact("Tool calls", String(totals.calls));
  } else if (event.type === "span_end" && event.name === "model.turn") {
    const usage = event.attrs?.usage;
    if (!usage) return;
    totals.input += (usage.inputTokens ?? 0) + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
    totals.output += usage.outputTokens ?? 0;
    setFact("Tokens", `${count(totals.input)} in, ${count(totals.output)} out`);
  }
}

function setFact(name, value) {
  if (!value) return;
  const known = [...facts.children].find((row) => row.firstElementChild.textContent === name);
  if (known) known.lastElementChild.textContent = value;
  else facts.append(el("div", {}, el("dt", {}, name), el("dd", {}, value)));
}

function follow() {
  const source = new EventSource(`${location.pathname}/events${location.search}`);
  const ticking = setInterval(tick, 1000);
  tick();
  connect("connecting");
  source.onopen = () => connect("live");
  source.onmessage = ({ data }) => keepAtEnd(() => apply(JSON.parse(data)));
  source.onerror = () => (source.readyState === EventSource.CLOSED ? lost() : connect("reconnecting"));
  source.addEventListener("replay_elided", ({ data }) => {
    const { fromSeq, toSeq } = JSON.parse(data);
    if (toSeq > lastSeq) gap(fromSeq, toSeq);
  });
  source.addEventListener("finished", ({ data }) => {
    ({ finishedAt } = JSON.parse(data));
    clearInterval(ticking);
    tick();
    transcript.end();
    settleStatus();
  });
  source.addEventListener("end", () => {
    source.close();
    connect("");
  });
  offerStop();
}

function tick() {
  clock.textContent = clockTime((finishedAt ?? Date.now()) - started);
}

/** A reader who is at the end of the page stays there; one who reads further up is left alone. */
function keepAtEnd(change) {
  const page = document.documentElement;
  const atEnd = page.scrollHeight - page.scrollTop - page.clientHeight < 80;
  change();
  if (atEnd && page.scrollHeight > page.clientHeight) page.scrollTop = page.scrollHeight;
}

function connect(state) {
  connection.dataset.state = state;
  connection.textContent = CONNECTION[state];
}

/** The server refused the stream: the run may have gone to the history meanwhile. */
async function lost() {
  const status = await finalStatus();
  if (status) location.replace(location.pathname);
  else connect("lost");
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
  document.getElementById("bar").hidden = true;
  showStatus((await finalStatus()) ?? "finished");
}

function showStatus(word) {
  const node = document.getElementById("status");
  root.dataset.status = word;
  node.dataset.status = word;
  node.textContent = statusText(word);
}

function offerStop() {
  const bar = document.getElementById("bar");
  const note = document.getElementById("action-note");
  const ask = async (mode) => {
    const query = new URLSearchParams(location.search);
    query.set("mode", mode);
    note.textContent = "";
    try {
      const answer = await fetch(`${location.pathname}/stop?${query}`, { method: "POST" });
      if (answer.ok) showStatus("stopping");
      else note.textContent = answer.status === 409 ? "The run has already finished." : "The run could not be stopped.";
    } catch {
      note.textContent = "The service did not answer.";
    }
  };
  document.getElementById("stop").addEventListener("click", () => ask("soft"));
  document.getElementById("kill").addEventListener("click", () => {
    if (confirm("Abort the run's work in flight?")) ask("hard");
  });
  bar.hidden = root.dataset.status !== "running" && root.dataset.status !== "stopping";
}
