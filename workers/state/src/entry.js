// The state Worker's entry: the gate, the name of the store, the store's object. Each is decided in Rust
// (router.rs); this only passes on what the runtime gives and awaits what it promises.
import * as wasm from "./index.js";
import { objectClass, rescue } from "./runtime.js";

const routes = wasm.routes();

export default {
  async fetch(request, env) {
    try {
      const { headers } = request;
      const [authorization, length] = [headers.get("authorization"), headers.get("content-length")];
      const admitted = wasm.admit(request.method, request.url, authorization, length, env.MEMORY_TOKEN);
      // A number is a route. Anything else is an answer already, or the promise of one.
      if (typeof admitted !== "number") return await (admitted ?? wasm.refuse_too_large(request, length));
      const bytes = await request.arrayBuffer().catch(() => undefined);
      // Its sender broke off. That is no fault of ours, and nobody may be there to hear of it.
      if (!bytes) return wasm.refuse_cut_off();
      const body = new Uint8Array(bytes);
      const name = wasm.store_name(admitted, body);
      if (typeof name !== "string") return name;
      const { binding, url } = routes[admitted];
      return await env[binding].getByName(name).fetch(url, { method: "POST", body });
    } catch (error) {
      return rescue(error);
    }
  },
};

export const RunStore = objectClass("RunStore");
export const RunTranscript = objectClass("RunTranscript");
export const FrictionLedger = objectClass("FrictionLedger");
export const Schedules = objectClass("Schedules");
