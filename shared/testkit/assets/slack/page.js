// The rehearsal workspace: shows the state that the server sends after each change, and sends what a person does.

import { block } from "./blocks.js";
import { el, emoji } from "./dom.js";
import { mrkdwn } from "./markup.js";

/** How near the end counts as reading the newest message, in pixels. */
const NEAR = 80;

const key = location.hash.slice(1);
const at = (id) => document.getElementById(id);
const [scroll, messages, composer, text] = ["scroll", "messages", "composer", "text"].map(at);
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
let state;
let current = sessionStorage.getItem("channel");

function notice(words) {
  at("notice").textContent = words;
  at("notice").hidden = !words;
}

function connection(kind, words) {
  const node = at("connection");
  if (node.textContent === words) return;
  node.dataset.state = kind;
  node.textContent = words;
}

async function send(path, body) {
  const response = await fetch(`/page/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-page-key": key },
    body: JSON.stringify(body),
  });
  notice(response.ok ? "" : `That was not sent: ${await response.text()}`);
  return response.ok;
}

const label = (channel) => (channel.kind === "im" ? `Direct messages with ${state.bot.name}` : `#${channel.name}`);

function showChannels() {
  const nodes = state.channels.map((channel) => {
    const node = el("button", { type: "button", "aria-current": channel.id === current ? "page" : null }, label(channel));
    node.addEventListener("click", () => {
      current = channel.id;
      sessionStorage.setItem("channel", current);
      messages.replaceChildren();
      prepare();
      show();
      text.focus();
    });
    return el("li", {}, node);
  });
  const version = `${current} ${JSON.stringify(state.channels.map(label))}`;
  if (at("channels").dataset.version === version) return;
  at("channels").dataset.version = version;
  at("channels").replaceChildren(...nodes);
}

/** Begins a message with the mention, where the bot needs one. */
function prepare() {
  const channel = state.channels.find((one) => one.id === current);
  text.value = channel.kind === "im" ? "" : `@${state.bot.name} `;
  at("text-label").textContent = channel.kind === "im" ? `Message to ${state.bot.name}` : `Message in #${channel.name}`;
  at("title").textContent = label(channel);
}

/** The words, cards, files and reactions of a message. */
function content(message) {
  const names = state.names;
  const press = (action) => send("press", { channel: current, ts: message.ts, action });
  const nodes = [];
  if (!message.blocks) nodes.push(...mrkdwn(message.text, names));
  if (message.blocks) nodes.push(el("div", { class: "card" }, ...message.blocks.flatMap((one) => block(one, names, press))));
  if (message.files) nodes.push(el("ul", { class: "files" }, ...message.files.map((file) => el("li", {}, `📎 ${file.name} (${file.size} bytes)`))));
  if (message.reactions) {
    const chips = message.reactions.map((one) => el("li", { title: one.name }, `${emoji(one.name)} ${one.count}`));
    nodes.push(el("ul", { class: "reactions", "aria-label": "Reactions" }, ...chips));
  }
  if (message.isStreaming) nodes.push(el("p", { class: "working" }, "writing"));
  return nodes;
}

function article(message) {
  const name = state.names[message.user] ?? message.user;
  const time = new Date(Number(message.ts) * 1000);
  const from = el("p", { class: "from" }, el("strong", {}, name), el("small", {}, el("time", { datetime: time.toISOString() }, clock.format(time))),
    message.edited && !message.bot_id ? el("small", {}, "(edited)") : null);
  const avatar = el("span", { class: "avatar", "aria-hidden": "true" }, name.charAt(0).toUpperCase());
  return el("article", { class: "message", "data-bot": Boolean(message.bot_id) }, avatar, el("div", { class: "body" }, from, ...content(message)));
}

/** Brings a list up to date; items that did not change stay, with the reader's selection. */
function reconcile(list, items, create, update) {
  const known = new Map([...list.children].map((node) => [node.dataset.ts, node]));
  items.forEach((item, index) => {
    const node = known.get(item.ts) ?? create(item);
    known.delete(item.ts);
    if (list.children[index] !== node) list.insertBefore(node, list.children[index] ?? null);
    update(node, item);
  });
  known.forEach((node) => node.remove());
}

function refresh(node, message) {
  const { reply_count, latest_reply, reply_users, ...own } = message;
  const version = JSON.stringify(own);
  if (node.dataset.version === version) return;
  node.dataset.version = version;
  const open = node.querySelector(":scope > .message");
  if (open) open.replaceWith(article(message));
  else node.prepend(article(message));
}

function replyForm(message) {
  const id = `reply-${message.ts}`;
  const box = el("textarea", { id, rows: "1", required: true });
  const form = el("form", {}, el("label", { for: id }, "Reply in this thread"), box, el("button", { type: "submit" }, "Reply"));
  submits(form, box, message.ts);
  return el("details", { class: "reply" }, el("summary", {}, "Reply"), form);
}

function root(message) {
  const thread = el("div", { class: "thread" }, el("ol", { "aria-label": "Replies" }), el("p", { class: "working", role: "status", hidden: true }), replyForm(message));
  return el("li", { "data-ts": message.ts }, thread);
}

function show() {
  showChannels();
  const channel = state.channels.find((one) => one.id === current);
  const isNear = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR;
  const isRoot = (message) => !message.thread_ts || message.thread_ts === message.ts;
  reconcile(messages, channel.messages.filter(isRoot), root, (node, message) => {
    refresh(node, message);
    const replies = channel.messages.filter((one) => one.thread_ts === message.ts && one.ts !== message.ts);
    reconcile(node.querySelector(".thread > ol"), replies, (reply) => el("li", { "data-ts": reply.ts }), refresh);
    const status = channel.statuses[message.ts];
    const working = node.querySelector(".thread > .working");
    working.hidden = !status;
    working.textContent = status ? `${state.bot.name} ${status}` : "";
  });
  if (isNear) scroll.scrollTop = scroll.scrollHeight;
}

function submits(form, box, thread) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const words = box.value.trim();
    if (!words || !(await send("say", { channel: current, thread, text: words }))) return;
    if (thread) box.value = "";
    else prepare();
    scroll.scrollTop = scroll.scrollHeight;
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit();
  });
}

function listen() {
  const source = new EventSource(`/page/changes?key=${encodeURIComponent(key)}`);
  source.onmessage = (event) => {
    const isFirst = !state;
    state = JSON.parse(event.data);
    if (!state.channels.some((channel) => channel.id === current)) current = state.channels[0].id;
    if (isFirst) prepare();
    if (state.isConnected) connection("live", `${state.bot.name} is connected`);
    else connection("alone", `${state.bot.name} is not connected`);
    show();
  };
  source.onerror = () => connection("lost", "The workspace does not answer: is it still running?");
}

submits(composer, text);
if (key) listen();
else notice("This address lacks its key. Open the link that cargo xtask up printed.");
