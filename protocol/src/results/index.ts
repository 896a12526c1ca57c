/**
 * The results API: what its server, workers, `fleet` and the dashboard agree on. `docs/reference/results.md` describes it.
 * May import the layers right of `results` in docs/architecture.md.
 */

export { Conversation, type ConversationEntry, type ConversationEvent } from './conversation.ts';

/** Group and version that the APIService registers, and the path below which both are served. */
export const resultsApi = {
  group: 'results.agentfleet.dev',
  version: 'v1alpha1',
  apiVersion: 'results.agentfleet.dev/v1alpha1',
  path: '/apis/results.agentfleet.dev/v1alpha1',
} as const;

/** ServiceAccount of the results server, which the chart gives it. */
export const resultsAccount = 'agentfleet-results';

/** Parts of a task that are served; RBAC names them as `agenttasks/log` and so on, with the verb `get`. */
export const resultsParts = ['log', 'conversation', 'artifacts'] as const;
export type ResultsPart = (typeof resultsParts)[number];

/**
 * Time that one answer of `conversation?follow=true` lasts, ms: an API server ends requests after a minute unless they watch or
 * read a log. The last line then is a `Pause`, and the client asks again with `since`.
 */
export const conversationStreamMs = 45_000;

/** Path of a part of a task, or of one artifact. @throws RangeError for a name that would lead elsewhere */
export function resultsPath(task: { readonly namespace: string; readonly name: string }, part: ResultsPart, artifact?: string): string {
  const words = ['namespaces', task.namespace, 'agenttasks', task.name, part, ...(artifact === undefined ? [] : [artifact])];
  const wrong = words.find((word) => word === '' || word === '.' || word === '..');
  if (wrong !== undefined) throw new RangeError(`"${wrong}" is no name`);
  return `${resultsApi.path}/${words.map(encodeURIComponent).join('/')}`;
}

/** One artifact of a task. */
export interface ArtifactItem {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Answer of `artifacts`. */
export interface ArtifactList {
  readonly apiVersion: typeof resultsApi.apiVersion;
  readonly kind: 'ArtifactList';
  readonly metadata: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly items: readonly ArtifactItem[];
}

/**
 * Audience of the tokens that the workers of a pool take from the results server. It is one for each pool, so that the workers of
 * one cannot read at another with a token that they were shown.
 */
export function resultsAudience(namespace: string, workers: string): string {
  return `agentfleet-results:${namespace}:${workers}`;
}

/** A task of which a worker is asked. */
export interface TaskIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

const segment = (...words: readonly (string | number)[]): string => words.map((word) => encodeURIComponent(word)).join('/');

/** Path at a worker of records of the event log after `since`; a line each, as the keeper wrote them. */
export function workerLogPath({ namespace, name, uid }: TaskIdentity, since: number): string {
  return `/results/v1/log/${segment(namespace, name, uid)}?since=${since}`;
}

/** Path at a worker of one artifact. */
export function workerArtifactPath({ namespace, name, uid }: TaskIdentity, attempt: number, artifact: string): string {
  return `/results/v1/artifacts/${segment(namespace, name, uid, attempt, artifact)}`;
}

/** Attempt and name of an artifact by its address; undefined where it is none of this task: the address decides nothing else. */
export function artifactPlace(
  uri: string,
  { namespace, name, uid }: TaskIdentity,
): { readonly attempt: number; readonly name: string } | undefined {
  const [file = '', attempt = '', ...owner] = uri.split('/').reverse();
  const isOwn = owner[0] === uid && owner[1] === name && owner[2] === namespace;
  return isOwn && /^[1-9]\d{0,8}$/.test(attempt) && file !== '' ? { attempt: Number(attempt), name: file } : undefined;
}

const objectUid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * The names by which the storage has a task. One that was restored from a backup is another object: what it left lies below the uid
 * that it had, which the addresses of its artifacts name. Namespace and name are its own in any case. Pure.
 */
export function storedIdentity(own: TaskIdentity, addresses: readonly string[]): TaskIdentity {
  for (const uri of addresses) {
    const stored = { ...own, uid: uri.split('/').at(-3) ?? '' };
    if (objectUid.test(stored.uid) && artifactPlace(uri, stored) !== undefined) return stored;
  }
  return own;
}

/** Artifact with the event log; `status.run.auditRoot` is the hash of one of its records, the head when it was stored. */
export const traceName = 'trace.ndjson';

/** Artifacts that are copied into a ConfigMap where the API server has no aggregation layer, each up to this many bytes. */
export const copiedArtifacts = ['change.patch', 'answer.md', 'report.json'] as const;
export const maxCopyBytes = 262_144;

/** Name of that ConfigMap, in the namespace of the task. */
export const copyName = (uid: string): string => `agentfleet-results-${uid}`;
