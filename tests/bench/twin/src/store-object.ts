// What both kinds of object share: tables brought up to date on waking, a body read whole before one synchronous span.

import { DurableObject } from "cloudflare:workers";
import { failure, json } from "./answer";
import type { Env } from "./gate";
import { type JsonObject, parseBody } from "./json";
import { migrate, type Migration } from "./migrate";

/** Answers one route's body with the answer's JSON text. */
export type Verb = (body: JsonObject, now: number) => string;

export abstract class StoreObject extends DurableObject<Env> {
  protected abstract readonly verbs: Map<string, Verb>;

  constructor(ctx: DurableObjectState, env: Env, migrations: Migration[]) {
    super(ctx, env);
    migrate(ctx.storage, migrations);
  }

  async fetch(request: Request): Promise<Response> {
    try {
      const path = new URL(request.url).pathname;
      const verb = this.verbs.get(path);
      if (!verb) return json(404, '{"error":"not found"}');
      const body = parseBody(await request.text());
      const answer = verb(body, Date.now());
      this.followUp(path);
      return json(200, answer);
    } catch (error) {
      return failure(error);
    }
  }

  /** What a success leaves to be done. */
  protected followUp(_path: string): void {}
}
