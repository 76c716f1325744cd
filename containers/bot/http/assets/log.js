// The list of a run's steps, built from its events one by one. A kind of event that it does not know is skipped.
import { Call } from "./call.js";
import { diff } from "./diff.js";
import { el } from "./dom.js";
import { markdown } from "./markdown.js";

/** Most rows of a group. The browser skips a group outside the view as a whole, so its work does not grow with the run. */
const GROUP_MAX_ROWS = 50;

/** The steps of a run, or of a part of it, in groups of rows. */
export class Log {
  constructor({ rehearsal }) {
    this.rehearsal = rehearsal;
    this.node = el("div", { class: "log" });
    /** The group that new rows join. */
    this.group = null;
    /** Running calls, oldest first. */
    this.running = new Set();
    /** Results without a call: it is in an earlier part. */
    this.orphans = new Map();
  }

  /** Shows one event. A fault in showing it shows its text and leaves the rest alone. */
  apply(event) {
    try {
      this.show(event);
    } catch (fault) {
      console.warn("event not rendered", fault);
      this.append(el("li", { class: "plain" }, String(event.text ?? event.summary ?? event.type)));
    }
  }

  show(event) {
    switch (event.type) {
      case "input":
        this.step = null;
        return this.append(el("li", { class: "follow-up" }, el("strong", {}, "Follow-up"), el("div", { class: "plain" }, event.text)));
      case "assistant":
        return this.openStep(markdown(event.text));
      case "tool_call":
        return this.call(event);
      case "tool_result":
        return this.settle(event);
      case "run_note":
        return this.note(event.summary, event.actor && `by ${event.actor.id}`, event.kind);
      case "replay_note":
        return this.note(event.summary, undefined, "gap");
      case "skill_use":
        return this.note(`Skill ${event.skill}`, event.description, "skill");
      case "review_artifact":
        return this.append(artifact(event));
      case "pr_opened":
        return this.append(pullRequest(event));
      case "span_start":
        return event.name === "model.turn" ? this.thinking(true) : undefined;
      case "span_end":
        return event.name === "model.turn" ? this.thinking(false) : undefined;
      default:
        return undefined;
    }
  }

  /** Nothing follows, so no result comes for calls that still run. */
  end() {
    this.thinking(false);
    for (const call of this.running) call.abandon();
    this.running.clear();
  }

  /** Puts an earlier part before this one and gives its calls their results. */
  prepend(earlier) {
    for (const call of earlier.running) {
      const result = this.orphans.get(call.callId);
      if (result) {
        this.orphans.delete(call.callId);
        earlier.running.delete(call);
        call.settle(result);
      }
    }
    for (const [id, result] of earlier.orphans) this.orphans.set(id, result);
    for (const call of earlier.running) this.running.add(call);
    earlier.thinking(false);
    this.node.prepend(...earlier.node.childNodes);
  }

  openStep(prose) {
    this.step = el("div", { class: "calls" });
    if (prose && this.rehearsal) prose.prepend(el("span", { class: "tag" }, "rehearsal"));
    this.append(el("li", { class: "step" }, prose, this.step));
  }

  call(event) {
    if (!this.step) this.openStep();
    const call = new Call(event);
    this.running.add(call);
    this.step.append(call.node);
  }

  settle(event) {
    const call = this.find(event);
    if (call) {
      this.running.delete(call);
      call.settle(event);
    } else if (event.callId !== undefined) {
      this.orphans.set(event.callId, event);
    }
  }

  /** The call a result belongs to: by id, else the oldest running call of the same tool. */
  find(event) {
    for (const call of this.running) {
      if (event.callId !== undefined ? call.callId === event.callId : call.tool === event.tool) return call;
    }
    return undefined;
  }

  note(summary, detail, kind) {
    this.append(el("li", { class: "note", "data-kind": kind }, summary ?? "", detail && el("span", { class: "detail" }, ` ${detail}`)));
  }

  thinking(on) {
    this.working ??= el("li", { class: "working" }, "Thinking");
    if (on) (this.group ?? this.openGroup()).append(this.working);
    else this.working.remove();
  }

  /** Appends a row. The thinking mark is last or absent. */
  append(row) {
    this.working?.remove();
    const hasRoom = this.group && this.group.childElementCount < GROUP_MAX_ROWS;
    (hasRoom ? this.group : this.openGroup()).append(row);
  }

  openGroup() {
    this.group = el("ol", { class: "rows" });
    this.node.append(this.group);
    return this.group;
  }
}

/** The reviewed change, built when it is opened. */
function artifact(event) {
  const title = event.truncated ? "Reviewed change (shortened)" : "Reviewed change";
  const details = el("details", { class: "call artifact" }, el("summary", {}, el("span", { class: "tool" }, title), el("code", { class: "target" }, event.baseRef ?? "")));
  details.addEventListener("toggle", () => details.append(diff(event.diff ?? "")), { once: true });
  return el("li", { class: "step" }, event.summary && el("p", { class: "plain" }, event.summary), details);
}

/** The pull request of the run. */
function pullRequest(event) {
  const name = `Pull request #${event.number}`;
  const isAddress = /^https?:\/\//.test(event.url ?? "");
  const link = isAddress ? el("a", { href: event.url, rel: "noreferrer" }, name) : name;
  return el("li", { class: "note", "data-kind": "pull_request" }, link, el("span", { class: "detail" }, event.created ? " opened" : " edited"));
}
