// A unified diff as lines with a colour and a sign.
import { el } from "./dom.js";

const KINDS = { "+": "added", "-": "removed", "@": "hunk", " ": "context" };

/** The diff as an element. */
export function diff(text) {
  const lines = text.split("\n").map((line) => el("div", { class: isHead(line) ? "note" : (KINDS[line[0]] ?? "note") }, line || " "));
  return el("div", { class: "diff", tabindex: "0", role: "group", "aria-label": "Diff" }, ...lines);
}

function isHead(line) {
  return line.startsWith("+++ ") || line.startsWith("--- ");
}
