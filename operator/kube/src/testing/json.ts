/** JSON as the fake handles it. */
export type Json = Record<string, unknown>;

export interface Meta extends Json {
  name: string;
  namespace?: string;
  generateName?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: { uid: string; [field: string]: unknown }[];
  managedFields?: unknown[];
}

/** A stored object; frozen by convention: every write makes a new one. */
export interface Stored extends Json {
  apiVersion: string;
  kind: string;
  metadata: Meta;
}

export function isJson(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** RFC 7386. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJson(patch)) return patch;
  const merged: Json = isJson(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

/** The value at a path of dots; undefined when there is none. */
export function at(object: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, field) => (isJson(value) ? value[field] : undefined), object);
}
