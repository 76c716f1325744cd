// The transcript of a run, built from its events one by one: request, context, steps, answer.
// Live and finished pages use it alike; a kind of event it does not know is skipped.
import { Call } from "./call.js";
import { el } from "./dom.js";
import { markdown } from "./markdown.js";

/** A run's transcript on the page. */
export class Transcript {
  constructor(host, { rehearsal }) {
    this.host = host;
    this.rehearsal = rehearsal;
    this.calls = [];
    this.steps = 0;
    host.replaceChildren();
  }

  /** Shows one event. A fault in showing it shows its text and leaves the rest alone. */
  apply(event) {
    try {
      this.show(event);
    } catch (fault) {
      console.warn("event not rendered", fault);
      this.log().append(el("li", { class: "plain" }, String(event.text ?? event.summary ?? event.type)));
    }
  }

  show(event) {
    switch (event.type) {
      case "input":
        return this.input(event);
      case "context":
        return this.context(event);
      case "assistant":
        this.openStep(markdown(event.text));
        return undefined;
      case "tool_call":
        return this.call(event);
      case "tool_result":
        return this.find(event)?.settle(event);
      case "answer":
        return this.answer(event);
      case "run_note":
        return this.note(event.summary, event.actor && `by ${event.actor.id}`, event.kind);
      case "replay_note":
        return this.note(event.summary, undefined, "gap");
      case "span_start":
        return event.name === "model.turn" ? this.thinking(true) : undefined;
      case "span_end":
        return event.name === "model.turn" ? this.thinking(false) : undefined;
      default:
        return undefined;
    }
  }

  /** Nothing follows: whatever still runs on the page will not be told how it ended. */
  end() {
    this.thinking(false);
    for (const call of this.calls) call.abandon();
  }

  input({ text }) {
    if (!this.request) {
      this.request = this.section("request", "Request", el("div", { class: "card plain" }, text));
      return;
    }
    this.step = null;
    this.log().append(el("li", { class: "follow-up" }, el("strong", {}, "Follow-up"), el("div", { class: "plain" }, text)));
  }

  context({ text }) {
    if (!this.earlier) {
      this.turns = el("ol", { class: "turns" });
      this.turnCount = el("span");
      this.earlier = el("details", { class: "context" }, el("summary", {}, "Earlier in this thread ", this.turnCount), this.turns);
      this.host.append(this.earlier);
    }
    const [, speaker, said] = /^(user|assistant): ?([^]*)$/.exec(text) ?? [null, "", text];
    this.turns.append(el("li", { "data-speaker": speaker || undefined }, el("strong", {}, speaker), el("div", { class: "plain" }, said)));
    this.turnCount.textContent = `(${this.turns.childElementCount})`;
  }

  openStep(prose) {
    this.steps += 1;
    this.step = el("div", { class: "calls" });
    const label = el("span", { class: "number" }, el("span", { class: "hidden" }, "Step "), String(this.steps));
    this.log().append(el("li", { class: "step" }, label, el("div", { class: "step-body" }, prose && this.tagged(prose), this.step)));
  }

  call(event) {
    if (!this.step) this.openStep();
    const call = new Call(event);
    this.calls.push(call);
    this.step.append(call.node);
  }

  /** The call a result belongs to: by id, else the oldest running call of the same tool. */
  find(event) {
    const open = this.calls.filter((call) => call.running);
    if (event.callId !== undefined) return open.find((call) => call.callId === event.callId);
    return open.find((call) => call.tool === event.tool);
  }

  answer({ text }) {
    this.end();
    const card = el("div", { class: "card" }, markdown(text));
    this.section("answer", "Answer", card, this.rehearsal && tag());
  }

  note(summary, detail, kind) {
    this.log().append(el("li", { class: "note", "data-kind": kind }, summary ?? "", detail && el("span", { class: "detail" }, ` ${detail}`)));
  }

  thinking(on) {
    if (!this.list && !on) return;
    this.working ??= el("li", { class: "working" }, el("span", { class: "dots", "aria-hidden": "true" }), "Thinking");
    if (on) this.log().append(this.working);
    else this.working.remove();
  }

  /** The list of steps; the thinking mark stays last in it. */
  log() {
    if (!this.list) {
      this.list = el("ol", { class: "log" });
      this.section("steps", "Steps", this.list);
    }
    if (this.working?.isConnected) this.working.remove();
    return this.list;
  }

  tagged(prose) {
    if (this.rehearsal) prose.prepend(tag());
    return prose;
  }

  section(name, title, content, mark) {
    const id = `${name}-head`;
    const node = el("section", { class: name, "aria-labelledby": id }, el("h2", { id }, title, mark || null), content);
    this.host.append(node);
    return node;
  }
}

function tag() {
  return el("span", { class: "tag" }, "rehearsal");
}
