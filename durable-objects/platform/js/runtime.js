// What the edge runtime calls, in front of what Rust exports. Nothing is decided here: promises are awaited in
// JavaScript, where that is cheap, and each request crosses into Rust at most twice, synchronously.
//
// `index.js` beside this file is what wasm-bindgen makes of the Worker's crate (xtask/workerd/src/pack.rs).
import * as wasm from "./index.js";

// How often the wasm instance was started anew. What an earlier one made is not to be touched again.
let life = 0;

// Answers a request that broke down. A trap, which is how a panic ends, leaves the instance's memory in an unknown
// state: the next request gets a new one. Everything true lies in SQLite, so nothing is lost with it.
export function rescue(error) {
  console.error(`fault: ${error?.stack ?? error}`);
  if (error instanceof WebAssembly.RuntimeError) {
    wasm.__wbg_reset_state();
    life += 1;
  }
  return new Response('{"error":"internal"}', {
    status: 500,
    headers: { "content-type": "application/json" },
  });
}

// What a panic outside of any request leaves behind: in a task that Rust spawned.
addEventListener("error", (event) => rescue(event.error));

// A Durable Object class over the Rust class of this name, which is made of the object's storage and answers a
// request's address and body at once.
export function objectClass(name) {
  return class {
    #storage;
    #inner;
    #life;

    constructor(context) {
      this.#storage = context.storage;
      this.#wake();
    }

    #wake() {
      this.#inner = new wasm[name](this.#storage);
      this.#life = life;
    }

    #awake() {
      if (this.#life !== life) this.#wake();
      return this.#inner;
    }

    async fetch(request) {
      try {
        const body = new Uint8Array(await request.arrayBuffer());
        return this.#awake().answer(request.url, body);
      } catch (error) {
        return rescue(error);
      }
    }

    // The platform repeats an alarm whose handler throws.
    async alarm() {
      await this.#awake().alarm();
    }
  };
}
