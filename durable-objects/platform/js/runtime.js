// What the edge runtime calls, in front of what Rust exports. Nothing is decided here: promises are awaited in
// JavaScript, where that is cheap, and a request crosses into Rust a few times, synchronously: twice in front of a store
// and once in its object; in the bot's object to learn where it goes, whether the bot is up, and what of the answer
// passes. An answer in the bot's place, a restart and what changes the container's life take more.
//
// `index.js` beside this file is what wasm-bindgen makes of the Worker's crate (xtask/workerd/src/pack.rs).
import * as wasm from "./index.js";

// How often the wasm instance was started anew. What an earlier one made is not to be touched again.
let life = 0;

// Calls into Rust. Rust never throws on purpose where it matters: an exception is a trap, which is how a panic ends, or
// has crossed Rust's frames without ending their borrows. Either way the instance's memory is in an unknown state, and
// the next call gets a new one. Everything true lies in SQLite, so nothing is lost with it.
export function inRust(call) {
  try {
    return call();
  } catch (error) {
    startAnew();
    throw error;
  }
}

function startAnew() {
  wasm.__wbg_reset_state();
  life += 1;
}

// Changes whenever the instance does.
export const lives = () => life;

// Answers a request that broke down.
export function rescue(error) {
  tell(error);
  return answer(500, "internal");
}

export function tell(error) {
  console.error(`fault: ${error?.stack ?? error}`);
}

// A refusal that no Rust is needed for.
export function answer(status, error) {
  return new Response(JSON.stringify({ error }), {
    status,
    headers: { "content-type": "application/json" },
  });
}

// An answer that came in pieces, because a whole one would be in memory several times over. It is sent as they are, one
// after the other, and each is given back once it is sent: the collector is in no hurry with what lies outside its heap.
function inPieces(pieces) {
  const length = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  const { readable, writable } = new FixedLengthStream(length);
  send(pieces, writable.getWriter());
  return new Response(readable, { headers: { "content-type": "application/json" } });
}

async function send(pieces, writer) {
  try {
    for (const piece of pieces) {
      await writer.write(piece);
      piece.buffer.transfer(0);
    }
    await writer.close();
  } catch {
    // Nobody reads any more, and nobody is left to be told.
  }
}

// What a panic outside of any call leaves behind: in a task that Rust spawned.
addEventListener("error", (event) => {
  tell(event.error);
  startAnew();
});

// Takes in a body that will be refused, up to so many bytes and milliseconds, and keeps nothing of it. A sender reads no
// answer until it has sent everything, and the runtime cuts a connection whose body nobody reads: the refusal would be
// lost. One whose body somebody else has is theirs to read.
export async function hearOut(request, most, patience) {
  if (!request.body || request.body.locked) return;
  const reader = request.body.getReader();
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, patience)));
  for (let left = most; left >= 0; ) {
    // Best effort: the refusal stands whatever became of the body.
    const read = await Promise.race([reader.read().catch(() => undefined), late]);
    if (!read || read.done) break;
    left -= read.value.byteLength;
  }
  clearTimeout(timer);
}

// The whole body, or nothing when its sender broke off: that is no fault of ours, and nobody may be there to hear.
export async function bodyOf(request) {
  const bytes = await request.arrayBuffer().catch(() => undefined);
  return bytes && new Uint8Array(bytes);
}

// The whole body of a request or an answer, or nothing when it is longer, slower or broken off.
export async function bodyWithin(message, most, patience) {
  const reader = message.body?.getReader();
  if (!reader) return new Uint8Array();
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, patience)));
  try {
    const pieces = [];
    for (let left = most; ; ) {
      const read = await Promise.race([reader.read().catch(() => undefined), late]);
      if (read?.done) return new Uint8Array(await new Blob(pieces).arrayBuffer());
      if (!read) {
        // Whoever sends it is told by the answer, if they are still there.
        reader.cancel().catch(() => undefined);
        return;
      }
      left -= read.value.byteLength;
      if (left < 0) {
        // What is left of it is the caller's to take in, or to cut off.
        reader.releaseLock();
        return;
      }
      pieces.push(read.value);
    }
  } finally {
    clearTimeout(timer);
  }
}

// A Durable Object class over the Rust class of this name, which is made of the object's storage and answers a
// request's address and body at once.
export function objectClass(name) {
  return class {
    #storage;
    #inner;
    #life;

    constructor(context) {
      this.#storage = context.storage;
      try {
        this.#awake();
      } catch (error) {
        // A constructor cannot answer; the first request will, by trying again.
        tell(error);
      }
    }

    #awake() {
      if (this.#life !== life) {
        this.#inner = inRust(() => new wasm[name](this.#storage));
        this.#life = life;
      }
      return this.#inner;
    }

    async fetch(request) {
      const body = await bodyOf(request);
      if (!body) return answer(400, "body could not be read");
      try {
        const inner = this.#awake();
        const answered = inRust(() => inner.answer(request.url, body));
        return answered instanceof Response ? answered : inPieces(answered);
      } catch (error) {
        return rescue(error);
      }
    }

    // The platform repeats an alarm whose handler throws.
    async alarm() {
      const inner = this.#awake();
      inRust(() => inner.alarm());
    }
  };
}
