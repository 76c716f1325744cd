// The facts in a run's head, continued from the server's totals as events arrive. Each has its place from the start.
import { count } from "./dom.js";

/** The facts of a live run. */
export class Facts {
  constructor(host, used) {
    this.host = host;
    this.used = used;
  }

  /** Counts one event. */
  add(event) {
    if (event.type === "run_meta") {
      this.set("effort", event.effort);
      this.set("ref", [event.ref, event.pr && `pull request ${event.pr}`].filter(Boolean).join(" · "));
      this.set("commit", event.headSha?.slice(0, 12));
    } else if (event.type === "tool_call") {
      this.used.calls += 1;
      this.set("calls", String(this.used.calls));
    } else if (event.type === "span_end" && event.name === "model.turn") {
      this.turn(event.attrs ?? {});
    }
  }

  turn({ purpose, model, usage }) {
    const { used } = this;
    if (!purpose) used.turns += 1;
    this.set("turns", limited(String(used.turns), used.limits.turns, String));
    if (!usage) return;
    const { inputTokens: input = 0, outputTokens: output = 0, cacheReadTokens: read = 0, cacheWriteTokens: write = 0 } = usage;
    this.set("context", limited(count(input + output + read + write), used.limits.window, count));
    if (!used.price || (model && model !== used.model)) used.isUnpriced = true;
    if (used.isUnpriced) return this.set("cost", "unknown");
    const { price } = used;
    used.microusd += Math.ceil((input * price.input + output * price.output + read * price.cacheRead + write * price.cacheWrite) / 1e6);
    this.set("cost", limited(dollars(used.microusd), used.limits.microusd, dollars));
  }

  set(key, value) {
    const node = this.host.querySelector(`[data-fact="${key}"]`);
    if (node && value) node.textContent = value;
  }
}

function limited(text, limit, format) {
  return limit === null || limit === undefined ? text : `${text} of ${format(limit)}`;
}

/** `$0.25`, with further digits where there are any. */
function dollars(microusd) {
  const [whole, fraction] = (microusd / 1e6).toFixed(6).split(".");
  return `$${whole}.${fraction.slice(0, 2)}${fraction.slice(2).replace(/0+$/, "")}`;
}
