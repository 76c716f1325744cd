// The bot, wherever it is: in the container, or, on a developer's machine, at an address. What passes to it and back, and
// what the edge asks it itself.
//
// Streams go from the client to the bot and back as they are, and a client that hangs up ends the request to the bot.
// Bodies never enter Rust, which decides where a request goes and what of it passes (shared/proxy/src/headers.rs).
import * as wasm from "./index.js";
import { bodyWithin, hearOut, inRust, tell } from "./runtime.js";

// How long the bot may take to answer the edge itself.
const ANSWER_MS = 5000;
const TRACE_BYTES = 24;
// Of a caller whom the edge answers by itself, so much is heard out: twice the largest body that the bot takes. Nothing of
// it is kept, so it need not be known who they are.
const HEARD_BYTES = 2 * 1024 * 1024;
const HEARD_MS = 3000;
// And so many at once: all of them come to one object, which has to pass on what everybody else sends.
const MOST_HEARD = 32;
let heard = 0;

// Hears a caller out, unless too many are being heard: a further one is answered at once, and may miss it.
export async function hearCaller(request) {
  if (heard >= MOST_HEARD) return;
  heard += 1;
  try {
    await hearOut(request, HEARD_BYTES, HEARD_MS);
  } finally {
    heard -= 1;
  }
}

export class BotAddress {
  #container;
  #origin;
  #port = inRust(() => wasm.port());

  constructor(container, url) {
    this.#container = container;
    // One that is no address is told by the first request to it.
    this.#origin = url;
  }

  // Where a request goes, by its address and its headers' names.
  way({ headers, url }) {
    const names = [...headers.keys()].join("\n");
    const connection = headers.get("connection") ?? undefined;
    const random = crypto.getRandomValues(new Uint8Array(TRACE_BYTES));
    return inRust(() => wasm.way(url, !this.#container, names, connection, random));
  }

  // Passes a request on, and what is answered back.
  async pass(request, way) {
    const [traceparent, ...stripped] = way.split("\n");
    try {
      // As a request, not as its parts: of those, a GET may not have a body, which on the wire it may. The caller's
      // signal comes with it, and as in every request from outside it leaves redirects alone.
      const passing = new Request(this.#address(request.url), request);
      for (const name of stripped) passing.headers.delete(name);
      passing.headers.set("traceparent", traceparent);
      return this.#returned(await this.#send(passing));
    } catch (error) {
      console.warn(`a request broke off: ${error?.message ?? error}`);
      // What is left of its body cannot be heard out: the runtime keeps it.
      return inRust(() => wasm.connection_lost(String(error?.message ?? error)));
    }
  }

  // What the bot answers the edge itself, unless it is too long or too slow.
  async ask(path, init) {
    const url = this.#address(`http://bot${path}`);
    const signal = AbortSignal.timeout(ANSWER_MS);
    const response = await this.#send(new Request(url, { redirect: "manual", signal, ...init }));
    const body = await bodyWithin(response, wasm.answer_limit(), ANSWER_MS);
    if (body) return { status: response.status, body };
    // Nothing, or more than anybody wants.
    response.body?.cancel().catch(tell);
  }

  // Whether the bot is there, however little it says or however late: nothing when there is no telling.
  async isThere() {
    try {
      await this.ask("/healthz", {});
      return true;
    } catch (error) {
      if (error?.name === "TimeoutError") return true;
      if (inRust(() => wasm.is_unreachable(String(error?.message ?? error)))) return false;
      console.warn(`a look at the container broke off: ${error?.message ?? error}`);
    }
  }

  // What belongs to the connection to the bot ends with it.
  #returned(response) {
    const connection = response.headers.get("connection") ?? undefined;
    const names = [...new Set(response.headers.keys())].join("\n");
    const stripped = inRust(() => wasm.pass_back(names, connection));
    if (!stripped) return response;
    const returned = new Response(response.body, response);
    for (const name of stripped.split("\n")) returned.headers.delete(name);
    return returned;
  }

  #send(request) {
    return this.#container ? this.#container.getTcpPort(this.#port).fetch(request) : fetch(request);
  }

  // The same path and query elsewhere. A container's port speaks plain HTTP alone, and the bot hears the caller's name
  // for it there. A developer's bot is told another, which is why `way` looked at that one.
  #address(url) {
    const { host, pathname, search } = new URL(url);
    const base = this.#container ? `http://${host}` : new URL(this.#origin).origin;
    return base + pathname + search;
  }
}
