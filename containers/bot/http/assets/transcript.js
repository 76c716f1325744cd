// The transcript of a run: answer, request, context, steps. A finished run begins with its answer. A live run ends with
// it, because a reader follows the end of the page.
import { el } from "./dom.js";
import { Log } from "./log.js";
import { markdown } from "./markdown.js";

/** A run's transcript on the page. */
export class Transcript {
  constructor(host, { rehearsal, answerFirst }) {
    this.host = host;
    this.rehearsal = rehearsal;
    this.answerFirst = answerFirst;
    this.log = new Log({ rehearsal });
  }

  /** Shows one event. */
  apply(event) {
    switch (event.type) {
      case "input":
        return this.hasRequest ? this.step(event) : this.request(event.text);
      case "context":
        return this.context(event.text);
      case "answer":
        return this.answer(event.text);
      default:
        return this.step(event);
    }
  }

  /** Nothing follows. */
  end() {
    this.log.end();
  }

  /** Shows the request. */
  request(text) {
    this.hasRequest = true;
    this.section("request", "Request", el("div", { class: "card plain" }, text));
  }

  /** Shows the answer once. */
  answer(text) {
    if (this.hasAnswer) return;
    this.hasAnswer = true;
    const card = el("div", { class: "card" }, markdown(text));
    this.section("answer", "Answer", card, this.rehearsal && el("span", { class: "tag" }, "rehearsal"));
  }

  /** Offers the events before a seq. `load` returns a promise of them and of the next such seq. */
  offerEarlier(before, load) {
    this.button = el("button", { type: "button", class: "earlier" }, "Show earlier steps");
    this.steps();
    this.list.before(this.button);
    let next = before;
    this.button.addEventListener("click", async () => {
      this.button.disabled = true;
      try {
        next = await load(next);
        this.button.textContent = "Show earlier steps";
      } catch (fault) {
        console.warn("earlier events not loaded", fault);
        this.button.textContent = "Not loaded. Try again";
      }
      this.button.disabled = false;
      if (next === null) this.button.remove();
    });
  }

  /** Puts an earlier part before the steps. */
  prepend(earlier) {
    this.log.prepend(earlier);
  }

  context(text) {
    if (!this.turns) {
      this.turns = el("ol", { class: "turns" });
      this.turnCount = el("span");
      const earlier = el("details", { class: "context" }, el("summary", {}, "Earlier in this thread ", this.turnCount), this.turns);
      if (this.list) this.list.closest("section").before(earlier);
      else this.host.append(earlier);
    }
    const [, speaker, said] = /^(user|assistant): ?([^]*)$/.exec(text) ?? [null, "", text];
    this.turns.append(el("li", { "data-speaker": speaker || undefined }, el("strong", {}, speaker), el("div", { class: "plain" }, said)));
    this.turnCount.textContent = `(${this.turns.childElementCount})`;
  }

  step(event) {
    this.log.apply(event);
    // Many events show nothing.
    if (!this.list && this.log.node.firstChild) this.steps();
  }

  steps() {
    if (this.list) return;
    this.list = this.log.node;
    this.section("steps", "Steps", this.list);
  }

  section(name, title, content, mark) {
    const id = `${name}-head`;
    const node = el("section", { class: name, "aria-labelledby": id }, el("h2", { id }, title, mark || null), content);
    if (name === "answer" && this.answerFirst) this.host.prepend(node);
    else this.host.append(node);
  }
}
