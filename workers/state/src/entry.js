// The state Worker's entry: the gate, the name of the store, the store's object. Each is decided in Rust
// (router.rs); this only passes on what the runtime gives and awaits what it promises.
import * as wasm from "./index.js";
import { bodyOf, hearOut, inRust, objectClass, rescue } from "./runtime.js";

const routes = inRust(() => wasm.routes());

// Longest body that is heard out before it is refused: twice the largest fence. Only callers with the bearer get so far.
const LINGER_BYTES = 4 * 1024 * 1024;
const LINGER_MS = 1000;

export default {
  async fetch(request, env) {
    try {
      const { method, url, headers } = request;
      const [authorization, length] = [headers.get("authorization"), headers.get("content-length")];
      const admitted = inRust(() => wasm.admit(method, url, authorization, length, env.MEMORY_TOKEN));
      // A number is a route. Anything else is an answer.
      if (typeof admitted !== "number") {
        if (admitted.status === 413) await hearOut(request, LINGER_BYTES, LINGER_MS);
        return admitted;
      }
      const body = await bodyOf(request);
      if (!body) return inRust(() => wasm.refuse_cut_off());
      const name = inRust(() => wasm.store_name(admitted, body));
      if (typeof name !== "string") return name;
      const { binding, url: address } = routes[admitted];
      return await env[binding].getByName(name).fetch(address, { method: "POST", body });
    } catch (error) {
      return rescue(error);
    }
  },
};

export const RunStore = objectClass("RunStore");
export const RunTranscript = objectClass("RunTranscript");
export const MemoryScope = objectClass("MemoryScope");
export const FrictionLedger = objectClass("FrictionLedger");
export const Schedules = objectClass("Schedules");
export const ConfigStore = objectClass("ConfigStore");
