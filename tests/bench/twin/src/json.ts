// Reading request bodies. A field that is null is not absent.

import { badField, Refused } from "./answer";

export type Json = string | number | boolean | null | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json | undefined;
}

/** A body, which must be an object; `broken` is said of one that does not parse. */
export function parseBody(text: string, broken = "body must be valid JSON, at most 127 levels deep"): JsonObject {
  let body: Json;
  try {
    body = JSON.parse(text) as Json;
  } catch {
    throw new Refused(400, broken);
  }
  if (!isObject(body)) throw badField("body", "must be a JSON object");
  return body;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isFiniteNumber(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

export function isWhole(value: Json | undefined): value is number {
  return Number.isInteger(value);
}

export function isRunId(value: Json | undefined): value is string {
  return typeof value === "string" && /^[A-Za-z0-9_-]{1,64}$/.test(value);
}

export const RUN_ID_RULE = "must be 1 to 64 letters, digits, `_` or `-`";

/** Whether a text has at most so many characters (code points). */
export function isShort(value: Json | undefined, max: number): value is string {
  return typeof value === "string" && (value.length <= max || [...value].length <= max);
}

export function runId(body: JsonObject, name: string): string | undefined {
  const id = body[name];
  if (id === undefined) return undefined;
  if (!isRunId(id)) throw badField(name, RUN_ID_RULE);
  return id;
}

export function requiredRunId(body: JsonObject, name: string): string {
  const id = runId(body, name);
  if (id === undefined) throw badField(name, RUN_ID_RULE);
  return id;
}

export function finite(body: JsonObject, name: string): number | undefined {
  const value = body[name];
  if (value !== undefined && !isFiniteNumber(value)) throw badField(name, "must be a finite number");
  return value;
}

export function integer(
  body: JsonObject,
  name: string,
  least: number,
  most: number,
  rule: string,
): number | undefined {
  const value = body[name];
  if (value === undefined) return undefined;
  if (!isWhole(value) || value < least || value > most) throw badField(name, rule);
  return value;
}

export function shortText(body: JsonObject, name: string, max: number): string | undefined {
  const value = body[name];
  if (value === undefined) return undefined;
  if (!isShort(value, max)) throw badField(name, `must be a string of at most ${max} characters`);
  return value;
}

const encoder = new TextEncoder();

/** Bytes of a text in UTF-8. */
export function utf8Length(text: string): number {
  return encoder.encode(text).byteLength;
}
