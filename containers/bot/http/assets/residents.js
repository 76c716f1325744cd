// The pages of residents, kept current by a feed of versions. A new version is a fresh rendering of the same page by the
// server, read as a document: nothing is parsed into this one, and scripts of the fresh document do not run.
import { localTimes, sinceTime } from "./dom.js";
import { morph } from "./morph.js";
import { keepOpen } from "./stream.js";

const root = document.getElementById("live");
const connection = document.getElementById("connection");
let isLoading = false;
let isStale = false;

localTimes(document);
tick();
follow();
setInterval(tick, 1000);

function follow() {
  const open = () => {
    const source = new EventSource(`${location.pathname}?stream=1`);
    source.onmessage = ({ data }) => {
      if (JSON.parse(data).version !== root.dataset.version) load();
      else connect("live", "Live");
    };
    return source;
  };
  keepOpen(open, {
    connected: () => connect("live", "Live"),
    reconnecting: () => connect("reconnecting", "Reconnecting…"),
    lost: () => connect("lost", "Disconnected. Reload the page to try again."),
  });
}

function connect(state, text) {
  connection.dataset.state = state;
  connection.textContent = text;
}

/** Loads the page again. A version that arrives while it loads is loaded afterwards. */
function load() {
  isStale = isLoading;
  if (isLoading) return;
  isLoading = true;
  const request = new XMLHttpRequest();
  request.open("GET", location.href);
  request.responseType = "document";
  request.onloadend = () => {
    isLoading = false;
    const fresh = request.status === 200 ? request.response?.getElementById("live") : null;
    if (fresh) show(request.response, fresh);
    else connect("lost", request.status === 404 ? "Not onboarded any more" : "Residents do not answer");
    if (isStale) load();
  };
  request.send();
}

function show(page, fresh) {
  localTimes(page);
  morph(root, fresh);
  const icon = (from) => from.querySelector('link[rel="icon"]');
  icon(document).setAttribute("href", icon(page).getAttribute("href"));
  connect("live", "Live");
  tick();
}

function tick() {
  for (const age of document.querySelectorAll(".age")) age.textContent = sinceTime(Number(age.dataset.at));
}
