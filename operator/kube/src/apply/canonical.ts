import { createHash } from 'node:crypto';

/** JSON with sorted keys and without undefined: equal declarations give equal text. */
export function canonical(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item)).join(',')}]`;
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`;
}

/** A short name of a declaration's content, 128 bits in base64url. */
export function contentHash(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('base64url').slice(0, 22);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/**
 * Whether every declared field stands in the object with the same value. Lists must have the same length, their items
 * may have more fields than declared, as the server fills defaults in. Where the server writes a value in another form
 * (a quantity), the answer is false: the caller writes once more, and the server finds nothing to change.
 */
export function contains(object: unknown, declared: unknown): boolean {
  if (declared === undefined) return true;
  if (Array.isArray(declared)) {
    return Array.isArray(object) && object.length === declared.length && declared.every((item, at) => contains(object[at], item));
  }
  if (isRecord(declared)) {
    return isRecord(object) && Object.entries(declared).every(([key, item]) => contains(object[key], item));
  }
  return object === declared;
}
