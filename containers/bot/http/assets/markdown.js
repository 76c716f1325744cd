// Markdown as DOM nodes, for text written by a model: paragraphs, headings, lists, quotes, tables, code, links,
// bold, italic. No markup is ever parsed, links lead to http and https only, and work is bounded for any input.
import { el } from "./dom.js";

/** Longer texts, and longer single paragraphs, are shown as they are. */
const MAX_TEXT = 200_000;
const MAX_INLINE = 20_000;
/** Deeper nesting is shown as text. */
const MAX_DEPTH = 8;

/** Level of the last heading. The page itself has the first two levels. */
let level = 2;

/** The text as nodes; a fault of this renderer shows the plain text. */
export function markdown(text) {
  if (text.length > MAX_TEXT) return plain(text);
  level = 2;
  try {
    const host = el("div", { class: "prose" });
    host.append(...blocks(text.replaceAll("\r\n", "\n").split("\n"), 0));
    return host;
  } catch (fault) {
    console.warn("markdown not rendered", fault);
    return plain(text);
  }
}

function plain(text) {
  return el("div", { class: "prose plain" }, text);
}

const FENCE = /^ {0,3}(`{3,}|~{3,}) *([\w+#.-]{0,40})/;
const HEADING = /^ {0,3}(#{1,6}) +(.*)$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
const QUOTE = /^ {0,3}> ?/;

function blocks(lines, depth) {
  if (depth > MAX_DEPTH) return [el("p", {}, lines.join("\n"))];
  const out = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    let block;
    if (line.trim() === "") at += 1;
    else if (isFence(line)) [block, at] = fence(lines, at);
    else if (HEADING.test(line)) [block, at] = [heading(line), at + 1];
    else if (isRule(line)) [block, at] = [el("hr"), at + 1];
    else if (QUOTE.test(line)) [block, at] = quote(lines, at, depth);
    else if (ITEM.test(line)) [block, at] = list(lines, at, depth);
    else if (isTable(lines, at)) [block, at] = table(lines, at);
    else [block, at] = paragraph(lines, at);
    if (block) out.push(block);
  }
  return out;
}

/** A line of backticks with more of them further on is inline code, not a fence. */
function isFence(line) {
  const found = FENCE.exec(line);
  return found !== null && !(found[1][0] === "`" && line.includes("`", line.indexOf("`") + found[1].length));
}

function fence(lines, start) {
  const [, marks, language] = FENCE.exec(lines[start]);
  let end = start + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(marks) && lines[end].trim().replaceAll(marks[0], "") === "")) end += 1;
  const code = el("code", {}, lines.slice(start + 1, end).join("\n"));
  return [el("pre", { "data-language": language || undefined, tabindex: "0" }, code), end + 1];
}

function heading(line) {
  const [, marks, rest] = HEADING.exec(line);
  let text = rest.trimEnd();
  while (text.endsWith("#")) text = text.slice(0, -1);
  // A heading is at most one level below the one before it, so that the page's outline has no gap.
  level = Math.min(6, marks.length + 2, level + 1);
  const node = el(`h${level}`);
  inline(node, text.trim(), 0);
  return node;
}

function isRule(line) {
  const marks = line.replaceAll(" ", "");
  return line.length < 120 && marks.length >= 3 && "-*_".includes(marks[0]) && marks.replaceAll(marks[0], "") === "";
}

function quote(lines, start, depth) {
  let end = start;
  while (end < lines.length && QUOTE.test(lines[end])) end += 1;
  const inner = lines.slice(start, end).map((line) => line.replace(QUOTE, ""));
  return [el("blockquote", {}, ...blocks(inner, depth + 1)), end];
}

function list(lines, start, depth) {
  const ordered = /\d/.test(ITEM.exec(lines[start])[2][0]);
  const first = Number.parseInt(ITEM.exec(lines[start])[2], 10);
  const node = el(ordered ? "ol" : "ul", { start: ordered && first !== 1 ? first : undefined });
  let at = start;
  while (at < lines.length) {
    const item = ITEM.exec(lines[at]);
    if (!item || isRule(lines[at]) || /\d/.test(item[2][0]) !== ordered) break;
    const indent = item[0].length;
    const inner = [lines[at].slice(indent)];
    at += 1;
    while (at < lines.length && belongs(lines, at, item[1].length)) {
      inner.push(lines[at].replace(new RegExp(`^ {0,${indent}}`), ""));
      at += 1;
    }
    const children = blocks(inner, depth + 1);
    // A tight item is its text, not a paragraph.
    const tight = children[0]?.tagName === "P" && !inner.includes("");
    if (tight) children.splice(0, 1, ...children[0].childNodes);
    node.append(el("li", {}, ...children));
  }
  return [node, at];
}

/** Whether a line continues the item before it: indented, or a lazy continuation of its paragraph. */
function belongs(lines, at, marker) {
  const line = lines[at];
  if (line.trim() === "") {
    const next = lines[at + 1];
    return next !== undefined && next.startsWith(" ".repeat(marker + 2)) && next.trim() !== "";
  }
  if (line.startsWith(" ".repeat(marker + 2))) return true;
  return lines[at - 1].trim() !== "" && !startsBlock(line) && !ITEM.test(line);
}

function startsBlock(line) {
  return isFence(line) || HEADING.test(line) || QUOTE.test(line) || isRule(line);
}

function isTable(lines, at) {
  const next = lines[at + 1];
  return lines[at].includes("|") && next !== undefined && next.includes("-") && next.includes("|") && /^[ |:-]+$/.test(next);
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split("|").map((cell) => cell.trim());
}

function table(lines, start) {
  const head = cells(lines[start]);
  const row = (tag, texts) => {
    const tr = el("tr");
    head.forEach((_, column) => {
      const cell = el(tag);
      inline(cell, texts[column] ?? "", 0);
      tr.append(cell);
    });
    return tr;
  };
  const body = el("tbody");
  let at = start + 2;
  while (at < lines.length && lines[at].includes("|") && lines[at].trim() !== "") {
    body.append(row("td", cells(lines[at])));
    at += 1;
  }
  return [el("div", { class: "table", tabindex: "0" }, el("table", {}, el("thead", {}, row("th", head)), body)), at];
}

function paragraph(lines, start) {
  let end = start + 1;
  while (end < lines.length && lines[end].trim() !== "" && !startsBlock(lines[end]) && !ITEM.test(lines[end]) && !isTable(lines, end)) end += 1;
  const node = el("p");
  inline(node, lines.slice(start, end).join("\n"), 0);
  return [node, end];
}

const LINK = /https?:\/\/[^\s<>"'`\])]+/y;
const PUNCTUATION = /[\\`*_{}[\]()#+\-.!~|>]/;

/** Appends the text with its inline marks to a node. */
function inline(node, text, depth) {
  if (text.length > MAX_INLINE || depth > MAX_DEPTH) {
    node.append(text);
    return;
  }
  // Marks that have no partner further on; looking for them again would make the work quadratic.
  const alone = new Set();
  let plainFrom = 0;
  let at = 0;
  const take = (child, end) => {
    if (at > plainFrom) node.append(text.slice(plainFrom, at));
    if (child) node.append(child);
    at = end;
    plainFrom = end;
  };
  while (at < text.length) {
    const span = mark(text, at, alone, depth);
    if (span) take(...span);
    else at += 1;
  }
  take(null, at);
}

/** The inline element that begins here and where it ends, if one does. */
function mark(text, at, alone, depth) {
  switch (text[at]) {
    case "\\":
      return PUNCTUATION.test(text[at + 1] ?? "") ? [text[at + 1], at + 2] : null;
    case "`":
      return code(text, at, alone);
    case "*":
    case "_":
      return emphasis(text, at, alone, depth);
    case "[":
      return link(text, at, depth);
    case "h":
      return bareLink(text, at);
    case "\n":
      return text.slice(at - 2, at) === "  " ? [el("br"), at + 1] : null;
    default:
      return null;
  }
}

function code(text, at, alone) {
  let width = 1;
  while (text[at + width] === "`") width += 1;
  const ticks = "`".repeat(width);
  if (alone.has(ticks)) return [ticks, at + width];
  let end = text.indexOf(ticks, at + width);
  while (end !== -1 && text[end + width] === "`") {
    let past = end + width;
    while (text[past] === "`") past += 1;
    end = text.indexOf(ticks, past);
  }
  if (end === -1) {
    alone.add(ticks);
    return [ticks, at + width];
  }
  const inner = text.slice(at + width, end);
  return [el("code", {}, inner.length > 2 && inner.startsWith(" ") && inner.endsWith(" ") ? inner.slice(1, -1) : inner), end + width];
}

function emphasis(text, at, alone, depth) {
  const sign = text[at];
  const double = text[at + 1] === sign;
  const mark = double ? sign + sign : sign;
  const from = at + mark.length;
  if (alone.has(mark)) return [mark, from];
  const opens = /\S/.test(text[from] ?? " ") && !(sign === "_" && /\w/.test(text[at - 1] ?? " "));
  if (!opens) return [mark, from];
  let end = text.indexOf(mark, from + 1);
  // A single sign does not close at one half of a double one.
  while (end !== -1 && !double && (text[end + 1] === sign || text[end - 1] === sign)) {
    let past = end;
    while (text[past] === sign) past += 1;
    end = text.indexOf(mark, past);
  }
  if (end === -1) {
    alone.add(mark);
    return [mark, from];
  }
  const closes = /\S/.test(text[end - 1]) && !(sign === "_" && /\w/.test(text[end + mark.length] ?? " "));
  if (!closes) return [mark, from];
  const node = el(double ? "strong" : "em");
  inline(node, text.slice(from, end), depth + 1);
  return [node, end + mark.length];
}

function link(text, at, depth) {
  const close = text.indexOf("](", at);
  const end = close === -1 ? -1 : text.indexOf(")", close);
  if (end === -1 || text.slice(at, end).includes("\n\n")) return null;
  const address = text.slice(close + 2, end).trim().split(/\s/)[0];
  const node = anchor(address);
  if (!node) return null;
  inline(node, text.slice(at + 1, close), depth + 1);
  return [node, end + 1];
}

function bareLink(text, at) {
  LINK.lastIndex = at;
  const found = LINK.exec(text)?.[0].replace(/[.,;:!?*_]+$/, "");
  const node = found && anchor(found);
  if (!node) return null;
  node.append(found);
  return [node, at + found.length];
}

/** A link to the web, or nothing: every other scheme stays text. */
function anchor(address) {
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  if (url.protocol !== "http:" && url.protocol !== "https:") return null;
  return el("a", { href: url.href, rel: "noopener noreferrer nofollow", target: "_blank" });
}
