// What becomes of the headers of a proxied request: the same rules as `shared/edge`.

const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const TRACE = new Set([
  "traceparent",
  "tracestate",
  "tracecontext",
  "baggage",
  "b3",
  "uber-trace-id",
  "x-amzn-trace-id",
  "x-cloud-trace-context",
  "x-ot-span-context",
]);
const TRACE_PREFIXES = ["x-b3-", "x-datadog-", "ot-tracer-", "uberctx-"];
const NEVER_LISTED = new Set(["host", "content-length"]);
const SUBJECT = "x-ars-restart-subject";

/** The headers that go on to the bot, with a trace context of our own. */
export function forwarded(headers: Headers): Headers {
  const listed = new Set((headers.get("connection") ?? "").split(",").map(spelt));
  const kept = new Headers();
  for (const [name, value] of headers) {
    const plain = spelt(name);
    if (plain === SUBJECT || HOP_BY_HOP.has(plain) || TRACE.has(plain)) continue;
    if (TRACE_PREFIXES.some((prefix) => plain.startsWith(prefix))) continue;
    if (listed.has(plain) && !NEVER_LISTED.has(plain)) continue;
    kept.append(name, value);
  }
  kept.set("traceparent", `00-${random(16)}-${random(8)}-01`);
  return kept;
}

/** One spelling for every spelling of a name: some servers take an underscore for a hyphen. */
function spelt(name: string): string {
  return name.trim().toLowerCase().replaceAll("_", "-");
}

function random(bytes: number): string {
  const drawn = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(drawn, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
