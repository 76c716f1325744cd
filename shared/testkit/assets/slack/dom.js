// Building blocks of the page. All text enters the document as text nodes; nothing here parses markup.

/** An element with attributes and children; a string child is text. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== null && child !== ""));
  return node;
}

/** A link that opens elsewhere, or its label if the address is no web address. */
export function link(url, ...label) {
  if (!/^(https?:\/\/|mailto:)/i.test(url)) return el("span", {}, ...label);
  return el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, ...label);
}

const EMOJI = {
  "+1": "👍", arrow_right: "➡️", arrow_right_hook: "↪️", arrows_counterclockwise: "🔄", bulb: "💡", construction: "🚧",
  eyes: "👀", gear: "⚙️", hammer_and_wrench: "🛠️", heavy_check_mark: "✔️", hourglass: "⌛", hourglass_flowing_sand: "⏳",
  information_source: "ℹ️", lock: "🔒", mag: "🔍", memo: "📝", no_entry: "⛔", no_entry_sign: "🚫", octagonal_sign: "🛑",
  robot_face: "🤖", rocket: "🚀", speech_balloon: "💬", stop_button: "⏹️", tada: "🎉", thumbsup: "👍", warning: "⚠️",
  white_check_mark: "✅", x: "❌",
};

/** An emoji by its name, or the name between colons. */
export function emoji(name) {
  return EMOJI[name] ?? `:${name}:`;
}
