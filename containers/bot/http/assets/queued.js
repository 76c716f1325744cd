// Messages that this reader sent and the run has not read. The tab keeps them, so that they survive a reload. A run that
// ends without reading them lists them, so that none is lost.
import { el } from "./dom.js";

/** What stands in an event in place of a secret. */
const REDACTED = "[redacted]";

/** The messages of this tab to one run. */
export class Queued {
  /** `list` shows them while the run is live, `page` after its end. */
  constructor(list, page) {
    this.list = list;
    this.page = page;
    this.key = `queued ${location.pathname}`;
    this.messages = load(this.key);
    this.show();
  }

  /** Adds a message that is sent after the event of this seq, and returns it. */
  add(text, after) {
    const message = { text, after };
    this.messages.push(message);
    this.changed();
    return message;
  }

  /** Removes a message that the service did not accept. */
  drop(message) {
    this.messages = this.messages.filter((other) => other !== message);
    this.changed();
  }

  /** Applies an event: a follow-up that the run has read is not queued any more. */
  apply({ type, text, seq }) {
    if (type !== "input") return;
    const read = this.messages.find((message) => message.after < seq && isShownAs(message.text, text));
    if (read) this.drop(read);
  }

  /** The run has ended with this status. */
  end(status) {
    if (this.messages.length === 0) return;
    const fate = status.startsWith("stopped") ? "Not read, because the run was stopped" : "Not read by this run. It is run on its own";
    const rows = this.messages.map(({ text }) => row(fate, text));
    this.page.append(el("section", { class: "unread", "aria-labelledby": "unread-head" }, el("h2", { id: "unread-head" }, "Your messages"), el("ol", { class: "queued" }, ...rows)));
  }

  changed() {
    store(this.key, this.messages);
    this.show();
  }

  show() {
    if (!this.list) return;
    this.list.replaceChildren(...this.messages.map(({ text }) => row("You, queued", text)));
    this.list.hidden = this.messages.length === 0;
  }
}

function row(state, text) {
  return el("li", { class: "follow-up" }, el("strong", {}, state), el("div", { class: "plain" }, text));
}

/** Whether an event shows a message, perhaps without the secrets in it. */
function isShownAs(sent, shown) {
  let at = 0;
  const parts = shown.trim().split(REDACTED);
  if (parts.length === 1) return sent === parts[0];
  return parts.every((part) => {
    const found = sent.indexOf(part, at);
    at = found + part.length;
    return found >= 0;
  });
}

function load(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key)) ?? [];
  } catch {
    return [];
  }
}

/** A browser may refuse storage. The messages are then shown until the page is left. */
function store(key, messages) {
  try {
    if (messages.length > 0) sessionStorage.setItem(key, JSON.stringify(messages));
    else sessionStorage.removeItem(key);
  } catch (fault) {
    console.warn("queued messages not kept", fault);
  }
}
