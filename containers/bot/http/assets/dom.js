// Building blocks of the pages. All text enters the document as text nodes; nothing here parses markup.

/** An element with attributes and children; a string child is text. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== null));
  return node;
}

/** A step's duration: `800ms`, `1.3s`, `5m 04s`. */
export function stepTime(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, "0")}s`;
}

/** A duration: `243ms`, `2s`, `4m 12s`, `1h 03m`. */
export function clockTime(ms) {
  if (ms > 0 && ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes === 0) return `${seconds}s`;
  if (minutes < 60) return `${minutes}m ${String(seconds % 60).padStart(2, "0")}s`;
  return `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, "0")}m`;
}

/** The time since a moment, in whole seconds, because it is shown again each second. */
export function sinceTime(at) {
  return clockTime(Math.floor((Date.now() - at) / 1000) * 1000);
}

/** A number with a unit: `950`, `12.3k`, `4.1M`. */
export function count(number) {
  if (number < 1000) return String(number);
  if (number < 1_000_000) return `${(number / 1000).toFixed(number < 10_000 ? 1 : 0)}k`;
  return `${(number / 1_000_000).toFixed(1)}M`;
}

/** `stopped_soft` as `Stopped soft`. */
export function statusText(word) {
  const text = word.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const when = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** Shows the times of a part of the page in the reader's own zone and language. */
export function localTimes(root) {
  for (const node of root.querySelectorAll("time[datetime]")) {
    const time = new Date(node.dateTime);
    if (!Number.isNaN(time.getTime())) {
      node.title = node.dateTime;
      node.textContent = when.format(time);
    }
  }
}
