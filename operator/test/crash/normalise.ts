import type { KubeObject } from '@agentfleet/kube';
import { labels } from '@agentfleet/protocol/pool';
import { recordComponent, recordKeys } from '../../src/pools/made.ts';
import type { History } from './history.ts';

/** Fields that are no part of the work: names of replicas, and who renews what. */
const left = new Set(['namespaces', 'leases.coordination.k8s.io', 'events.k8s.io', 'nodes']);

const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

/** Seconds that passed between two looks. */
const durations = /"pausedSeconds":\d+/g;

/** The state without what differs between two runs of the same course: uids, versions, times, drawn names. */
export function normalise(history: History): readonly string[] {
  const names = drawnNames(history);
  const present = new Set([...history.present.values()].map(({ metadata }) => metadata.uid));
  const lines = [...history.present].flatMap(([key, object]) => {
    const [kind = ''] = key.split(' ');
    return left.has(kind) ? [] : [text(withoutStale(object, present), names)];
  });
  return lines.sort();
}

/** The record of waiting sandboxes without lines of those that are gone, which it loses now and then. */
function withoutStale(object: KubeObject, present: ReadonlySet<string | undefined>): KubeObject {
  const { data } = object as { readonly data?: Readonly<Record<string, string>> };
  const lines = data?.[recordKeys.sandboxes];
  if (object.metadata.labels?.[labels.component] !== recordComponent || lines === undefined) return object;
  const kept = lines.split('\n').filter((line) => present.has(line.split(' ')[0]));
  const digest = (line: string): string => line.split(' ')[1] ?? '';
  const inOrder = kept.toSorted((a, b) => (digest(a) < digest(b) ? -1 : 1));
  return Object.assign({}, object, { data: { ...data, [recordKeys.sandboxes]: inOrder.join('\n') } });
}

/** Names and uids that the server drew, and what stands for them. */
function drawnNames(history: History): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { change } of history.changes) {
    const { metadata } = change.object ?? {};
    if (metadata?.uid !== undefined) names.set(metadata.uid, '<uid>');
    if (metadata?.generateName !== undefined) names.set(metadata.name, `${metadata.generateName}*`);
  }
  return names;
}

function text(object: KubeObject, names: ReadonlyMap<string, string>): string {
  const { resourceVersion: _, managedFields: __, creationTimestamp: ___, ...metadata } = object.metadata;
  let line = JSON.stringify(sorted({ ...object, metadata }));
  for (const [name, stands] of names) if (line.includes(name)) line = line.replaceAll(name, stands);
  return line.replace(time, '<time>').replace(durations, '"pausedSeconds":0');
}

/** Keys in order, and lists of conditions by their type: what was merged in another order is the same. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, key === 'conditions' ? byType(item) : sorted(item)]));
}

function byType(list: unknown): unknown {
  const conditions = sorted(list);
  if (!Array.isArray(conditions)) return conditions;
  const typeOf = (item: unknown): string => String((item as { type?: unknown }).type);
  return conditions.toSorted((a, b) => (typeOf(a) < typeOf(b) ? -1 : 1));
}
