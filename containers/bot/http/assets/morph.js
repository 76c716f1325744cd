// Changes a part of the page in place to a fresh rendering of it. Nodes that stay keep focus and scroll position.

/** Changes `old` to `fresh`. An open `details` stays open. */
export function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || key(old) !== key(fresh)) {
    old.replaceWith(document.importNode(fresh, true));
    return;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) return;
  attributes(old, fresh);
  children(old, fresh);
}

function key(node) {
  return node.dataset?.key;
}

function attributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

function children(old, fresh) {
  const keyed = new Map([...old.children].filter((child) => key(child)).map((child) => [key(child), child]));
  let at = old.firstChild;
  for (const next of fresh.childNodes) {
    const known = keyed.get(key(next));
    if (known && known !== at) {
      old.insertBefore(known, at);
      morph(known, next);
    } else if (at) {
      const following = at.nextSibling;
      morph(at, next);
      at = following;
    } else {
      old.append(document.importNode(next, true));
    }
  }
  while (at) {
    const following = at.nextSibling;
    at.remove();
    at = following;
  }
}
