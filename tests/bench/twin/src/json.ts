// Reads request bodies: small checks that reject a field by its name.

import { badField, Rejected } from "./answer";

export type Json = string | number | boolean | null | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json | undefined;
}

export function parseBody(text: string): JsonObject {
  let body: Json;
  try {
    body = JSON.parse(text) as Json;
  } catch {
    throw new Rejected(400, "body must be a JSON object");
  }
  if (!isObject(body)) throw badField("body", "must be a JSON object");
  return body;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isNumber(value: Json | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** Returns a string field that matches a pattern. */
export function text(body: JsonObject, name: string, pattern: RegExp): string {
  const value = body[name];
  if (typeof value !== "string" || !pattern.test(value)) throw badField(name, `must match ${pattern}`);
  return value;
}

export const RUN_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Returns an integer field within bounds, or its default if it is absent. */
export function integer(body: JsonObject, name: string, least: number, most: number, absent?: number): number {
  const value = body[name] ?? absent;
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
    throw badField(name, `must be an integer from ${least} to ${most}`);
  }
  return value as number;
}

const encoder = new TextEncoder();

/** Returns the number of bytes of a text in UTF-8. */
export function utf8Length(text: string): number {
  return encoder.encode(text).byteLength;
}
