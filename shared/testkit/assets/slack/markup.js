// Slack's markup and Markdown as nodes. Neither is complete: this is what agents write.

import { el, emoji, link } from "./dom.js";

const ADDRESS = ["address", /\b(https?:\/\/[^\s<>|]*[^\s<>|.,;:!?)])/];

const INLINE = [
  ["code", /`([^`\n]+)`/],
  ADDRESS,
  ["angle", /<([^<>\n]+)>/],
  ["strong", /(?<![\w*])\*(?!\s)([^*\n]+?)(?<!\s)\*(?![\w*])/],
  ["em", /(?<![\w_])_(?!\s)([^_\n]+?)(?<!\s)_(?![\w_])/],
  ["s", /(?<![\w~])~(?!\s)([^~\n]+?)(?<!\s)~(?![\w~])/],
  ["emoji", /:([a-z0-9_+-]+):/],
];

const MARKDOWN = [
  ["code", /`([^`\n]+)`/],
  ADDRESS,
  ["anchor", /\[([^\]\n]+)\]\(([^()\s]+)\)/],
  ["strong", /\*\*([^\n]+?)\*\*/],
  ["em", /(?<![\w*])\*(?![\s*])([^*\n]+?)\*(?![\w*])/],
  ["em", /(?<![\w_])_(?!\s)([^_\n]+?)_(?![\w_])/],
  ["s", /~~([^\n]+?)~~/],
];

function unescaped(text) {
  return text.replace(/&(lt|gt|amp);/g, (_, name) => ({ lt: "<", gt: ">", amp: "&" })[name]);
}

/** What stands between angle brackets: a mention, a channel, a broadcast or a link. */
function angle(content, names) {
  const [target, label] = content.split("|", 2);
  if (target.startsWith("@")) return el("span", { class: "mention" }, `@${names[target.slice(1)] ?? label ?? target.slice(1)}`);
  if (target.startsWith("#")) return el("span", { class: "mention" }, `#${label ?? target.slice(1)}`);
  if (target.startsWith("!")) return el("span", { class: "mention" }, `@${label ?? target.slice(1)}`);
  return link(unescaped(target), unescaped(label ?? target));
}

function inline(text, rules, names, plain) {
  const nodes = [];
  let rest = text;
  while (rest) {
    let first;
    for (const [kind, pattern] of rules) {
      const match = pattern.exec(rest);
      if (match && (!first || match.index < first.match.index)) first = { kind, match };
    }
    if (!first) break;
    const { kind, match } = first;
    nodes.push(plain(rest.slice(0, match.index)));
    if (kind === "code") nodes.push(el("code", {}, plain(match[1])));
    else if (kind === "angle") nodes.push(angle(match[1], names));
    else if (kind === "anchor") nodes.push(link(match[2], match[1]));
    else if (kind === "address") nodes.push(link(plain(match[1]), plain(match[1])));
    else if (kind === "emoji") nodes.push(emoji(match[1]));
    else nodes.push(el(kind, {}, ...inline(match[1], rules, names, plain)));
    rest = rest.slice(match.index + match[0].length);
  }
  nodes.push(plain(rest));
  return nodes;
}

/** Splits at code blocks: text and code alternate, the first part is text. */
function fenced(text) {
  return text.split(/```(?:\w*\n)?([\s\S]*?)(?:```|$)\n?/);
}

/** Text in Slack's markup. `names` has people's names by id. */
export function mrkdwn(text, names) {
  const nodes = [];
  fenced(text).forEach((part, index) => {
    if (index % 2) return nodes.push(el("pre", { tabindex: "0" }, el("code", {}, unescaped(part.replace(/\n$/, "")))));
    const trimmed = part.replace(/\n+$/, "");
    for (const run of trimmed.match(/(?:^&gt;[^\n]*(?:\n|$))+|(?:^(?!&gt;)[^\n]*(?:\n|$))+/gm) ?? []) {
      if (!run) continue;
      const isQuote = run.startsWith("&gt;");
      const content = isQuote ? run.replace(/^&gt; ?/gm, "") : run;
      const tag = isQuote ? "blockquote" : "p";
      nodes.push(el(tag, { class: "text" }, ...inline(content.replace(/\n$/, ""), INLINE, names, unescaped)));
    }
  });
  return nodes;
}

/** Markdown, as streams and Markdown blocks have it. */
export function markdown(text) {
  const nodes = [];
  const plain = (piece) => piece;
  const parsed = (piece) => inline(piece, MARKDOWN, {}, plain);
  fenced(text).forEach((part, index) => {
    if (index % 2) return nodes.push(el("pre", { tabindex: "0" }, el("code", {}, part.replace(/\n$/, ""))));
    let list;
    for (const line of part.split("\n")) {
      const item = /^\s*(?:([-*+])|\d+[.)])\s+(.*)$/.exec(line);
      const heading = /^#{1,6}\s+(.*)$/.exec(line);
      if (item) {
        const tag = item[1] ? "ul" : "ol";
        if (list?.localName !== tag) nodes.push((list = el(tag)));
        list.append(el("li", {}, ...parsed(item[2])));
        continue;
      }
      list = undefined;
      if (heading) nodes.push(el("h3", {}, ...parsed(heading[1])));
      else if (line.startsWith(">")) nodes.push(el("blockquote", {}, ...parsed(line.replace(/^> ?/, ""))));
      else if (line.trim()) nodes.push(el("p", {}, ...parsed(line)));
    }
  });
  return nodes;
}
