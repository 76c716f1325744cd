// Messages that this reader sent and the run has not read. The tab keeps them, so that they survive a reload. A run that
// ends without reading them lists them, so that none is lost. What cannot be known to be unread is not shown.
import { el } from "./dom.js";

/** What stands in an event in place of a secret. */
const REDACTED = "[redacted]";

/** What the keys of the tab's storage begin with. The sign-in page removes them, see `sign-in.js`. */
const KEY_PREFIX = "queued ";

/** The messages of this tab to one run. */
export class Queued {
  /**
   * `list` shows them while the run is live, `page` after its end. `published` is the seq of the run's last event.
   * Later ones that an earlier process showed were never stored, and other events have or will have their numbers.
   */
  constructor(list, page, published) {
    this.list = list;
    this.page = page;
    this.key = KEY_PREFIX + location.pathname;
    this.messages = load(this.key).map(({ text, after }) => ({ text, after: Math.min(after, published), accepted: true }));
    this.show();
  }

  /** Adds a message that is sent after the event of this seq, and returns it. */
  add(text, after) {
    const message = { text, after, accepted: false };
    this.messages.push(message);
    this.changed();
    return message;
  }

  /** The service has accepted a message. Only such a one is kept. */
  accept(message) {
    message.accepted = true;
    this.changed();
  }

  /** Removes a message that the service did not accept. */
  drop(message) {
    this.messages = this.messages.filter((other) => other !== message);
    this.changed();
  }

  /** Events up to this seq are not here. The run may have read the messages that were sent before the last of them. */
  missed(to) {
    this.messages = this.messages.filter(({ after }) => after >= to);
    this.changed();
  }

  /** Applies an event: a follow-up that the run has read is not queued any more. */
  apply({ type, text, seq, missedTo }) {
    if (missedTo !== undefined) this.missed(missedTo);
    if (type !== "input") return;
    const read = this.messages.find((message) => message.after < seq && isShownAs(message.text, text));
    if (read) this.drop(read);
  }

  /** The run has ended with this status. */
  end(status) {
    if (this.messages.length === 0) return;
    const rows = this.messages.map((message) => row(fate(status, message.accepted), message.text));
    const dismiss = el("button", { type: "button" }, "Dismiss");
    const section = el("section", { class: "unread", "aria-labelledby": "unread-head" }, el("h2", { id: "unread-head" }, "Your messages"), el("ol", { class: "queued" }, ...rows), el("p", {}, dismiss));
    dismiss.addEventListener("click", () => {
      this.messages = [];
      this.changed();
      section.remove();
    });
    this.page.append(section);
  }

  changed() {
    store(this.key, this.messages.filter(({ accepted }) => accepted).map(({ text, after }) => ({ text, after })));
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

/** What became of a message that the run did not read. */
function fate(status, accepted) {
  if (status.startsWith("stopped")) return "Not read, because the run was stopped";
  if (accepted && ["completed", "failed"].includes(status)) return "Not read by this run. It is run on its own";
  return "Not read by this run";
}

/** Whether an event shows a message, perhaps without the secrets in it. One of secrets alone shows nothing. */
function isShownAs(sent, shown) {
  const parts = shown.trim().split(REDACTED);
  if (parts.length === 1) return sent === parts[0];
  if (parts.every((part) => part.trim() === "")) return false;
  const first = parts.shift();
  const last = parts.pop();
  const end = sent.length - last.length;
  let at = first.length;
  if (!sent.startsWith(first) || !sent.endsWith(last)) return false;
  for (const part of parts) {
    const found = sent.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= end;
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
