// Blocks of a message as nodes.

import { el, emoji, link } from "./dom.js";
import { markdown, mrkdwn } from "./markup.js";

/** Everything that a text object holds, without paragraphs around a single one. */
function textObject(object, names) {
  if (object.type !== "mrkdwn") return [object.text];
  return mrkdwn(object.text, names);
}

function richPart(part, names) {
  const style = part.style ?? {};
  let node;
  if (part.type === "text") node = part.text;
  else if (part.type === "link") node = link(part.url, part.text ?? part.url);
  else if (part.type === "emoji") node = emoji(part.name);
  else if (part.type === "user") node = el("span", { class: "mention" }, `@${names[part.user_id] ?? part.user_id}`);
  else if (part.type === "channel") node = el("span", { class: "mention" }, `#${part.channel_id}`);
  else if (part.type === "broadcast") node = el("span", { class: "mention" }, `@${part.range}`);
  else node = part.fallback ?? "";
  for (const [name, tag] of [["code", "code"], ["bold", "strong"], ["italic", "em"], ["strike", "s"]]) {
    if (style[name]) node = el(tag, {}, node);
  }
  return node;
}

function rich(element, names) {
  const parts = () => element.elements.map((part) => richPart(part, names));
  if (element.type === "rich_text_list") {
    const items = element.elements.map((item) => el("li", {}, ...item.elements.map((part) => richPart(part, names))));
    return el(element.style === "ordered" ? "ol" : "ul", { class: `indent-${Math.min(element.indent ?? 0, 3)}` }, ...items);
  }
  if (element.type === "rich_text_preformatted") return el("pre", { tabindex: "0" }, el("code", {}, ...parts()));
  return el(element.type === "rich_text_quote" ? "blockquote" : "p", {}, ...parts());
}

function button(element, press) {
  const style = element.style ?? null;
  if (element.url) {
    const anchor = link(element.url, element.text.text);
    if (style) anchor.dataset.style = style;
    return anchor;
  }
  const node = el("button", { type: "button", "data-style": style }, element.text.text);
  node.addEventListener("click", () => {
    node.disabled = true;
    press(element.action_id).finally(() => (node.disabled = false));
  });
  return node;
}

const MARKS = { pending: "○", in_progress: "◐", complete: "●", error: "✕" };

/** A task of an agent, in a plan or as a card of its own. */
function task(title, status) {
  return el("p", { class: "task" }, `${MARKS[status] ?? "○"} ${title}`);
}

/** A block as nodes. `press` sends the interaction of a button with this action. */
export function block(block, names, press) {
  switch (block.type) {
    case "header": return [el("h3", {}, block.text.text)];
    case "divider": return [el("hr")];
    case "section": {
      const fields = (block.fields ?? []).flatMap((field) => textObject(field, names));
      const accessory = block.accessory?.type === "button" ? [el("div", { class: "actions" }, button(block.accessory, press))] : [];
      return [...(block.text ? textObject(block.text, names) : []), ...fields, ...accessory];
    }
    case "context":
      return [el("div", { class: "context" }, ...block.elements.map((one) =>
        one.type === "image" ? el("span", {}, one.alt_text) : el("span", {}, ...textObject(one, names))))];
    case "actions": return [el("div", { class: "actions" }, ...block.elements.map((one) => button(one, press)))];
    case "image": return [link(block.image_url ?? "", block.alt_text)];
    case "markdown": return markdown(block.text);
    case "rich_text": return block.elements.map((element) => rich(element, names));
    case "plan":
      return [el("h3", {}, block.title), ...(block.tasks ?? []).map((one) => task(one.title, one.status))];
    case "task_card": return [task(block.title, block.status)];
    default: return [el("p", {}, `(${block.type})`)];
  }
}
