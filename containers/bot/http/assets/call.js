// The card of one tool call: its target, its state, its output.
import { el, stepTime } from "./dom.js";

/** The state of a card and how a screen reader says it. */
const STATES = {
  running: ["", "running"],
  ok: ["✓", "succeeded"],
  failed: ["✗", "failed"],
  infra: ["!", "infrastructure failure"],
  open: ["–", "no result"],
};

/** A tool call on the page. */
export class Call {
  constructor(event) {
    this.tool = event.tool ?? "tool";
    this.callId = event.callId;
    this.at = event.at;
    this.icon = el("span", { class: "icon", "aria-hidden": "true" });
    this.said = el("span", { class: "hidden" });
    this.end = el("span", { class: "end" });
    this.body = el("div", { class: "call-body" });
    const head = el("summary", {},
      this.icon, this.said, el("span", { class: "tool" }, this.tool), el("code", { class: "target" }, target(event)), this.end);
    this.node = el("details", { class: "call" }, head, this.body);
    // The head shows the whole of a command unless its summary was cut.
    if (event.command && event.command !== target(event)) this.body.append(block("Command", event.command));
    this.set("running");
  }

  /** Shows the result of the call. */
  settle(event) {
    this.set(event.ok ? "ok" : event.infra ? "infra" : "failed");
    if (event.exitCode) this.end.append(el("span", { class: "exit" }, `exit ${event.exitCode}`));
    if (this.at !== undefined && event.at !== undefined) this.end.append(el("span", { class: "time" }, stepTime(event.at - this.at)));
    const output = event.output ?? event.summary;
    if (output) this.body.append(block("Output", output));
  }

  /** The run has ended and no result will come. */
  abandon() {
    if (this.state === "running") this.set("open");
  }

  set(state) {
    this.state = state;
    this.node.dataset.state = state;
    [this.icon.textContent, this.said.textContent] = [STATES[state][0], `${STATES[state][1]}: `];
  }
}

/** The summary without the tool's name or the shell's prompt, which the card shows already. */
function target(event) {
  const summary = event.summary ?? "";
  if (summary.startsWith("$ ")) return summary.slice(2);
  return summary.startsWith(`${event.tool} `) ? summary.slice(event.tool.length + 1) : summary;
}

function block(name, text) {
  return el("figure", {}, el("figcaption", {}, name), el("pre", { tabindex: "0" }, text));
}
