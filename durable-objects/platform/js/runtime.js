// Runs a Worker's Rust module. JavaScript is left for what Rust cannot do: the platform finds
// handlers and classes as static exports, it offers methods by RPC only on subclasses of its own
// `DurableObject`, and a panic or an abort is a trap that only the module's caller can catch
// (docs/decisions/0014-workers-in-rust.md).
//
// After a trap new calls go to a new module instance. Calls in flight finish on the old instance,
// which is freed after the last: only they refer to it.
import { DurableObject } from "cloudflare:workers";
import instantiate from "./index.js";

// A microtask by `then` costs a tenth of the platform's `queueMicrotask`.
const settled = Promise.resolve();

class Instance {
  // Futures are polled in microtasks. These are ours, because a trap there has no other caller that could catch it.
  rust = instantiate({
    queueMicrotask: (task) => settled.then(() => this.poll(task)),
    trackTask: (key, promise) => this.track(key, promise),
  });
  // Each object's Rust half. An object does not refer to it: an idle object would keep a retired
  // instance in memory.
  objects = new WeakMap();
  // Calls and tasks in flight.
  pending = new Set();
  // The stack pointer while no code runs. A trap leaves it where it was, and an overflow leaves it beyond the stack.
  emptyStack = this.rust.stackPointer.value;

  // Calls Rust code. The promise settles even if the future traps.
  call(key, code) {
    try {
      const answer = code();
      return answer instanceof Promise ? this.track(key, answer) : answer;
    } catch (error) {
      report(error);
      // An `Err` is thrown too.
      if (isTrap(error)) this.retire(error);
      throw error;
    }
  }

  poll(task) {
    try {
      task();
    } catch (error) {
      report(error);
      this.retire(error);
    }
  }

  // Returns the promise, which `retire` can reject: a trap drops the future. `key` names the call
  // in Rust.
  track(key, promise) {
    return new Promise((resolve, reject) => {
      const entry = { key, reject };
      const settle = (done) => (result) => {
        this.pending.delete(entry);
        done(result);
      };
      this.pending.add(entry);
      promise.then(settle(resolve), settle(reject));
    });
  }

  // Sends new calls to another instance after a trap, fails the call that trapped and resumes the others.
  retire(error) {
    const isFirst = this === current;
    if (isFirst) current = new Instance();
    this.rust.stackPointer.value = this.emptyStack;
    let failed = () => true;
    try {
      // Another error recurs if the queue of futures is unusable.
      if (isFirst || isTrap(error)) {
        const key = this.rust.recover();
        failed = (entry) => entry.key === key;
      }
    } catch {
      // This instance's code cannot run, so none of the calls would finish.
    }
    for (const entry of [...this.pending].filter(failed)) {
      this.pending.delete(entry);
      entry.reject(error);
    }
  }
}

// The second type is an engine stack overflow.
function isTrap(error) {
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
}

// Faults are for the log only.
function report(error) {
  console.error(`fault: ${error?.stack ?? error}`);
}

// The instance for new calls.
let current = new Instance();

// Calls the module's event handler. The event is the call's key.
function handle(name, event, env, context) {
  const instance = current;
  return instance.call(event, () => instance.rust[name](event, env, context));
}

// Returns the response to a request, also if the call failed.
async function answered(call) {
  try {
    return await call();
  } catch {
    return Response.json({ error: "internal" }, { status: 500 });
  }
}

// The Worker's event handlers.
export const handlers = {
  fetch: (request, env, context) => answered(() => handle("fetch", request, env, context)),
};
if (current.rust.scheduled) {
  handlers.scheduled = async (event, env, context) => handle("scheduled", event, env, context);
}

// A Durable Object class over the Rust class with this name. The platform calls methods that it
// finds on the prototype.
export function objectClass(name) {
  return class extends DurableObject {
    static {
      const offered = current.rust[name].prototype;
      for (const method of Object.getOwnPropertyNames(offered)) {
        if (/^(constructor|free|fetch|__)/.test(method)) continue;
        this.prototype[method] = function (...parameters) {
          return this.#call(method, parameters);
        };
      }
      // `serve` has the platform's own request and response. With `#[durable_object]`, `fetch`
      // rebuilds the response, which loses the body's encoding.
      if (offered.serve) {
        this.prototype.fetch = function (request) {
          return answered(() => this.#serve(request));
        };
      }
    }

    async #serve(request) {
      for (;;) {
        const answer = await this.#call("serve", [request]);
        // A retired instance that has not begun the call gives no answer.
        if (answer !== undefined) return answer;
      }
    }

    // Calls a method on the current instance's object, which wakes first if it is new there.
    #call(method, parameters) {
      const instance = current;
      return instance.call(parameters[0], () => {
        let object = instance.objects.get(this);
        if (!object) instance.objects.set(this, (object = new instance.rust[name](this.ctx, this.env)));
        return object[method](...parameters);
      });
    }
  };
}
