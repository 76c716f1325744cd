// Answers, which are always JSON.

/** A rejected request: its status and the body of the answer. */
export class Rejected extends Error {
  readonly body: string;

  constructor(
    readonly status: number,
    error: string | object,
  ) {
    super("rejected");
    this.body = JSON.stringify(typeof error === "string" ? { error } : error);
  }
}

/** Rejects a field that breaks a rule with 400. */
export function badField(field: string, rule: string): Rejected {
  return new Rejected(400, `${field} ${rule}`);
}

const HEADERS = { "content-type": "application/json" };

export function json(status: number, body: string): Response {
  return new Response(body, { status, headers: HEADERS });
}

/** An object's answer by RPC: the text of a success, or a status and a text. */
export type Reply = string | [status: number, body: string];

/** Answers an exception; an unexpected one is logged and not described to the caller. */
export function failure(error: unknown): [status: number, body: string] {
  if (error instanceof Rejected) return [error.status, error.body];
  console.error("fault:", error);
  return [500, '{"error":"internal"}'];
}
