// Runs a Worker's Rust module. JavaScript is left for what Rust cannot do: the platform finds handlers and classes as
// static exports, it offers methods by RPC only on subclasses of its own `DurableObject`, and a panic or an abort is a
// trap that only the caller of the module can catch (docs/decisions/0014-workers-in-rust.md).
//
// After a trap new calls go to a new instance of the module. Calls in flight finish on the old instance, which is freed
// after the last of them.
import { DurableObject } from "cloudflare:workers";
import instantiate from "./index.js";

class Instance {
  rust = instantiate();
  // Fails a call in flight, by the call's first argument.
  calls = new Map();

  // Awaits a promise of this instance. A trap may drop the promise's future: then only `recover` can settle the call.
  track(key, promise) {
    return new Promise((resolve, reject) => {
      this.calls.set(key, reject);
      promise.then(
        (value) => {
          this.calls.delete(key);
          resolve(value);
          if (this !== current) this.release();
        },
        (error) => {
          this.calls.delete(key);
          reject(error);
          if (this !== current) this.release();
        },
      );
    });
  }

  // Fails the calls of trapped futures and resumes the others. Returns whether any had trapped.
  recover(error) {
    try {
      const trapped = this.rust.recover_calls();
      for (const key of trapped) this.fail(key, error);
      return trapped.length > 0;
    } catch {
      // No code of this instance can run, so none of its calls would finish.
      for (const key of [...this.calls.keys()]) this.fail(key, error);
      return true;
    }
  }

  fail(key, error) {
    this.calls.get(key)?.(error);
    this.calls.delete(key);
    this.release();
  }

  // Sends new calls to another instance, and calls that wait for a change of state too.
  retire() {
    if (this !== current) return;
    current = new Instance();
    busy.add(current);
    try {
      this.rust.retire_instance();
    } catch (error) {
      this.recover(error);
    }
    this.release();
  }

  release() {
    if (this !== current && !this.calls.size) busy.delete(this);
  }
}

// The instance for new calls.
let current = new Instance();
// The current instance, and retired ones with calls in flight.
const busy = new Set([current]);

// Futures run in microtasks, so their traps surface here.
addEventListener("error", ({ error }) => {
  const trapped = [...busy].filter((instance) => instance.recover(error));
  if (trapped.length) return trapped.forEach((instance) => instance.retire());
  // The task belongs to no call.
  report(error);
  current.retire();
});

function report(error) {
  console.error(`fault: ${error?.stack ?? error}`);
}

// Answers a request after its call failed. The cause is for the log only.
function fault(error) {
  report(error);
  return Response.json({ error: "internal" }, { status: 500 });
}

// Calls an event handler of the module.
function handle(name, event, env, context) {
  const instance = current;
  return instance.track(event, instance.rust[name](event, env, context));
}

// The Worker's event handlers.
export const handlers = {
  fetch: (request, env, context) => handle("fetch", request, env, context).catch(fault),
};
if (current.rust.scheduled) handlers.scheduled = (event, env, context) => handle("scheduled", event, env, context);

// A Durable Object class over the Rust class of this name. The platform calls methods that it finds on the prototype.
export function objectClass(name) {
  return class extends DurableObject {
    #inner;
    #instance;

    static {
      const offered = current.rust[name].prototype;
      for (const method of Object.getOwnPropertyNames(offered)) {
        if (/^(constructor|free|fetch|__)/.test(method)) continue;
        this.prototype[method] = function (...parameters) {
          return this.#call(method, parameters);
        };
      }
      // `serve` has the platform's own request and response. The `fetch` of `#[durable_object]` rebuilds the response,
      // which loses the encoding of its body.
      if (offered.serve) {
        this.prototype.fetch = function (request) {
          return this.#serve(request).catch(fault);
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

    // Calls a method of the Rust object, which lives as long as its instance.
    #call(method, parameters) {
      const instance = current;
      try {
        if (this.#instance !== instance) {
          this.#inner = new instance.rust[name](this.ctx, this.env);
          this.#instance = instance;
        }
        const answered = this.#inner[method](...parameters);
        return answered instanceof Promise ? instance.track(parameters[0], answered) : answered;
      } catch (error) {
        report(error);
        instance.retire();
        throw error;
      }
    }
  };
}
