// What must be awaited of a restart, between its questions. Each is decided in Rust (shared/container/src/restart.rs).
import * as wasm from "./index.js";
import { bodyWithin, inRust, tell } from "./runtime.js";

const BODY_MS = 10_000;

// Answers whoever wants the bot restarted. `container` is what can be done to its container; nothing where there is none.
export async function restart(request, tokens, bot, container) {
  const authorization = request.headers.get("authorization") ?? undefined;
  const caller = inRust(() => wasm.restart_caller(request.method, authorization, tokens));
  if (typeof caller !== "string") return caller;
  const body = await bodyWithin(request, wasm.restart_body_limit(), BODY_MS);
  const force = inRust(() => wasm.restart_force(body));
  if (typeof force !== "boolean") return force;
  if (container && !container.isRunning()) return inRust(() => wasm.restart_without_bot(caller, tokens));
  const [route, name, subject] = inRust(() => wasm.restart_question(caller)).split("\n");
  const leave = await bot.ask(route, { method: "POST", headers: { [name]: subject } }).catch(tell);
  // One that ended under the question gave no answer, and is nobody's to stop.
  if (container && !leave && !container.isRunning()) return inRust(() => wasm.restart_without_bot(caller, tokens));
  const refused = inRust(() => wasm.restart_refusal(caller, leave?.status, leave?.body));
  if (refused) return refused;
  const health = await bot.ask("/healthz", {}).catch(tell);
  if (container) return container.restart(force, health);
  return inRust(() => wasm.restart_elsewhere(force, health?.status, health?.body));
}
