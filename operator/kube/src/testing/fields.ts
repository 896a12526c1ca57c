import { canonical } from '../apply/applier.ts';
import { isJson, type Json } from './json.ts';
import { listType, type KindDefinition } from './kinds.ts';

/** One step of a field path, in the notation of fieldsV1: `f:name`, `k:{"name":"a"}`, `v:"x"`. */
export type Step = string;

/** A path as a string that can be a Map key: the JSON of its steps. */
export type Path = string;

/** Fields without an owner: those that identify an object or are the server's own. */
const unowned = new Set([
  'apiVersion',
  'kind',
  ...['name', 'namespace', 'generateName', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'selfLink'].map(
    (field) => `metadata.${field}`,
  ),
  ...['deletionTimestamp', 'deletionGracePeriodSeconds', 'managedFields'].map((field) => `metadata.${field}`),
]);

export function itemStep(item: unknown, keys: readonly string[]): Step {
  const of: Json = {};
  for (const key of keys) of[key] = isJson(item) ? (item[key] ?? (key === 'protocol' ? 'TCP' : undefined)) : undefined;
  return `k:${canonical(of)}`;
}

export const setStep = (item: unknown): Step => `v:${canonical(item)}`;

/** All leaves of an object: scalars, atomic lists, empty maps. */
export function leavesOf(kind: KindDefinition, object: Json): Map<Path, unknown> {
  const leaves = new Map<Path, unknown>();
  walk(kind, object, '', [], leaves);
  return leaves;
}

function walk(kind: KindDefinition, value: unknown, pattern: string, steps: readonly Step[], leaves: Map<Path, unknown>): void {
  if (unowned.has(pattern) || value === undefined) return;
  if (Array.isArray(value)) {
    walkList(kind, value, pattern, steps, leaves);
    return;
  }
  const entries = isJson(value) ? Object.entries(value) : [];
  if (entries.length === 0) {
    if (steps.length > 0) leaves.set(JSON.stringify(steps), value);
    return;
  }
  for (const [field, item] of entries) walk(kind, item, pattern === '' ? field : `${pattern}.${field}`, [...steps, `f:${field}`], leaves);
}

function walkList(
  kind: KindDefinition,
  list: readonly unknown[],
  pattern: string,
  steps: readonly Step[],
  leaves: Map<Path, unknown>,
): void {
  const type = listType(kind, pattern);
  if (type === undefined) leaves.set(JSON.stringify(steps), list);
  else if (type === 'set') for (const item of list) leaves.set(JSON.stringify([...steps, setStep(item)]), item);
  else for (const item of list) walk(kind, item, pattern, [...steps, itemStep(item, type)], leaves);
}

/** The declared fields laid over the live ones, lists by their types. */
export function overlay(kind: KindDefinition, live: unknown, declared: unknown, pattern = ''): unknown {
  if (Array.isArray(declared)) {
    const type = listType(kind, pattern);
    const present: readonly unknown[] = Array.isArray(live) ? (live as unknown[]) : [];
    if (type === undefined) return declared as unknown[];
    const stepOf = (item: unknown): Step => (type === 'set' ? setStep(item) : itemStep(item, type));
    const items = new Map(present.map((item) => [stepOf(item), item]));
    for (const item of declared as unknown[]) items.set(stepOf(item), overlay(kind, items.get(stepOf(item)), item, pattern));
    return [...items.values()];
  }
  if (!isJson(declared)) return declared;
  const merged: Json = isJson(live) ? { ...live } : {};
  for (const [field, item] of Object.entries(declared))
    merged[field] = overlay(kind, merged[field], item, pattern === '' ? field : `${pattern}.${field}`);
  return merged;
}

/** The object without one leaf; maps and lists that become empty go with it. */
export function without(kind: KindDefinition, value: unknown, steps: readonly Step[], pattern = ''): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return undefined;
  if (step.startsWith('f:')) {
    if (!isJson(value)) return value;
    const field = step.slice(2);
    const item = without(kind, value[field], rest, pattern === '' ? field : `${pattern}.${field}`);
    const left = { ...value, [field]: item };
    if (item === undefined) delete left[field];
    return Object.keys(left).length === 0 && pattern !== '' ? undefined : left;
  }
  if (!Array.isArray(value)) return value;
  const type = listType(kind, pattern);
  const items = (value as unknown[]).flatMap((item) => {
    const own = type === undefined || type === 'set' ? setStep(item) : itemStep(item, type);
    if (own !== step) return [item];
    // The item lives as long as its key has an owner.
    const gone = Array.isArray(type) && rest.length === 1 && type.some((key) => rest[0] === `f:${key}`);
    const left = gone ? undefined : without(kind, item, rest, pattern);
    return left === undefined ? [] : [left];
  });
  return items.length === 0 ? undefined : items;
}

/** `fieldsV1` of a set of paths. */
export function fieldsTree(paths: Iterable<Path>): Json {
  const tree: Json = {};
  for (const path of paths) {
    let node = tree;
    for (const step of JSON.parse(path) as Step[]) node = (node[step] ??= {}) as Json;
  }
  return tree;
}

/** `.spec.list[name="a"].field`, as conflicts name it. */
export function pathText(path: Path): string {
  const text = (step: Step): string => {
    if (step.startsWith('f:')) return `.${step.slice(2)}`;
    if (step.startsWith('v:')) return `[=${step.slice(2)}]`;
    const keys = Object.entries(JSON.parse(step.slice(2)) as Json).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
    return `[${keys.join(',')}]`;
  };
  return (JSON.parse(path) as Step[]).map(text).join('');
}
