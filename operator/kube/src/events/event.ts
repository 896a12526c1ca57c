import { defineResource } from '../api/resource.ts';
import type { KubeObject } from '../api/object.ts';

export interface ObjectReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** `events.k8s.io/v1` Event. */
export interface KubeEvent extends KubeObject {
  readonly eventTime: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  readonly regarding: ObjectReference;
  readonly related?: ObjectReference;
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

export const events = defineResource<KubeEvent>({
  group: 'events.k8s.io',
  version: 'v1',
  plural: 'events',
  kind: 'Event',
  namespaced: true,
});

/** What happened; emitted on transitions only, never at every reconcile. */
export interface NewEvent {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, at most 128 bytes. */
  readonly reason: string;
  /** What was done or tried, at most 128 bytes. */
  readonly action: string;
  /** At most 1024 bytes; cut when longer. */
  readonly note: string;
  readonly related?: KubeObject;
}

export function referenceTo(object: KubeObject): ObjectReference {
  const { name, namespace, uid, resourceVersion } = object.metadata;
  const { apiVersion, kind } = object;
  return { apiVersion, kind, name, namespace, uid, resourceVersion } as ObjectReference;
}

/** Cuts to a number of UTF-8 bytes without splitting a character. */
export function cutBytes(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  let end = most;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end).toString();
}
