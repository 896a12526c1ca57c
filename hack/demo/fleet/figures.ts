import type { Timeline } from './follow.ts';
import { conditionOf, namespaces, type Stage, type Evidence } from './stage.ts';
import type { Capability } from '@agentfleet/protocol/inference';
import { expertPort } from '@agentfleet/protocol/pool';
import { expertsToken, portForward } from '../../sandbox/index.ts';
import { auditEntry, auditLines, isWrite, type AuditEntry } from '../../bench/operator/auditLog.ts';
import { dirname, join } from 'node:path';

export type { AuditEntry };

export interface WritesQuery {
  readonly username: string;
  readonly namespace: string;
  /** Objects that count, by `resource/name`; a name may be a prefix with a final `*`. */
  readonly objects: readonly string[];
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly until: number;
}

/** The writes that took place, as `verb resource/subresource name`. Pure. */
export function writes(entries: readonly AuditEntry[], query: WritesQuery): readonly string[] {
  return entries.filter((entry) => counts(entry, query)).map(writeOf);
}

function counts(entry: AuditEntry, query: WritesQuery): boolean {
  const { user, objectRef = {}, responseStatus, requestReceivedTimestamp = '' } = entry;
  const at = Date.parse(requestReceivedTimestamp);
  if (!isWrite(entry) || user?.username !== query.username || objectRef.namespace !== query.namespace) return false;
  if (at < query.from || at > query.until || (responseStatus?.code ?? 0) >= 300) return false;
  const object = `${objectRef.resource ?? ''}/${objectRef.name ?? ''}`;
  return query.objects.some((wanted) => (wanted.endsWith('*') ? object.startsWith(wanted.slice(0, -1)) : object === wanted));
}

function writeOf({ verb = '', objectRef = {} }: AuditEntry): string {
  const { resource = '', subresource, name = '' } = objectRef;
  return `${verb} ${resource}${subresource === undefined ? '' : `/${subresource}`} ${name}`;
}

/**
 * Returns the entries about one namespace in the audit log of the local cluster, which is stored beside its kubeconfig; undefined for any
 * other cluster.
 */
async function readAuditLog(
  cluster: { readonly provider: string; readonly kubeconfig: string },
  namespace: string,
): Promise<readonly AuditEntry[] | undefined> {
  if (cluster.provider !== 'local') return undefined;
  const entries: AuditEntry[] = [];
  for await (const line of auditLines(join(dirname(cluster.kubeconfig), 'logs'), new Map()))
    if (line.includes(`"namespace":"${namespace}"`)) entries.push(auditEntry(line) ?? {});
  return entries;
}

/** Buckets of one histogram: upper bound and how many values do not exceed it, ascending; the last bound is infinite. */
export type Buckets = readonly { readonly le: number; readonly count: number }[];

const line = /^(\w+)_bucket\{(.*)\} (\S+)$/;
const label = /(\w+)="([^"]*)"/g;

/** The buckets of a histogram in Prometheus's text, by the value of one label. */
export function bucketsBy(text: string, name: string, by: string): ReadonlyMap<string, Buckets> {
  const found = new Map<string, { le: number; count: number }[]>();
  for (const one of text.split('\n')) {
    const [, metric, labels = '', count = ''] = line.exec(one) ?? [];
    if (metric !== name) continue;
    const values = new Map([...labels.matchAll(label)].map(([, key, value]) => [key, value]));
    const [kind, le] = [values.get(by), values.get('le')];
    if (kind === undefined || le === undefined) continue;
    const buckets = found.get(kind) ?? [];
    found.set(kind, buckets);
    buckets.push({ le: le === '+Inf' ? Infinity : Number(le), count: Number(count) });
  }
  for (const buckets of found.values()) buckets.sort((a, b) => a.le - b.le);
  return found;
}

/** The sum of histograms that have the same bounds: what several servers saw together. */
export function merged(all: readonly Buckets[]): Buckets {
  const counts = new Map<number, number>();
  for (const { le, count } of all.flat()) counts.set(le, (counts.get(le) ?? 0) + count);
  return [...counts].map(([le, count]) => ({ le, count })).sort((a, b) => a.le - b.le);
}

export function countOf(buckets: Buckets): number {
  return buckets.at(-1)?.count ?? 0;
}

/** Returns the least bound that a share of the values does not exceed; undefined without values. Infinite when it is beyond all bounds. */
export function boundOf(buckets: Buckets, share: number): number | undefined {
  const count = countOf(buckets);
  return count === 0 ? undefined : buckets.find((bucket) => bucket.count >= share * count)?.le;
}

const metric = 'agentfleet_inference_request_seconds';
const timed: readonly (readonly [Capability, string])[] = [
  ['Score', 'energy'],
  ['Control', 'control vector'],
  ['Embed', 'embedding'],
  ['Judge', 'policy'],
  ['Generate', 'proposals'],
];

/** Returns the resource that a task was seen to wait for before its sandbox started; undefined: none. */
function waitedFor({ states }: Timeline): string | undefined {
  if (states.some(({ task }) => conditionOf(task, 'SandboxReady')?.reason === 'Unschedulable')) return 'room on the node';
  return states.some(({ task: { status } }) => status?.phase === 'Queued') ? 'its turn at a worker' : undefined;
}

interface Pods {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

/** Prints the time that the servers of the fleet took to answer, by their own histograms: a bound, not the figure itself. */
async function answerTimes({ kubectl, proofs }: Stage): Promise<void> {
  const selector = 'agentfleet.dev/component in (expert, verifier)';
  const { items } = await kubectl.json<Pods>(['-n', namespaces.pools, 'get', 'pods', '-l', selector]);
  const headers = { authorization: `Bearer ${await expertsToken(kubectl, namespaces.system, namespaces.pools)}` };
  const seen = new Map<string, Buckets[]>();
  for (const { metadata } of items) {
    const forward = await portForward(kubectl, namespaces.pools, metadata.name, expertPort);
    const response = await fetch(`${forward.url}/metrics`, { headers });
    const text = await response.text();
    await forward.close();
    if (!response.ok) throw new Error(`pod ${metadata.name} answered GET /metrics with ${response.status}: ${text}`);
    for (const [capability, buckets] of bucketsBy(text, metric, 'capability'))
      seen.set(capability, [...(seen.get(capability) ?? []), buckets]);
  }
  for (const [capability, name] of timed) {
    const buckets = merged(seen.get(capability) ?? []);
    const bound = boundOf(buckets, 0.95);
    const within = bound === undefined ? 'nobody asked' : Number.isFinite(bound) ? `p95 ≤ ${bound * 1000} ms` : 'p95 beyond all buckets';
    proofs.fact(`${name}, as its servers saw it: ${within}, ${countOf(buckets)} requests`);
  }
}

/** Writes of the operator for one task until its sandbox is ready, Events apart. */
const writeBudget = 3;

/** Prints the figures of the run: times, candidates, commands, writes and memory. */
export async function figures(stage: Stage, reported: readonly Evidence[]): Promise<void> {
  const { proofs } = stage;
  const ends = reported.map(({ timeline }) => timeline.states.at(-1)?.at ?? timeline.appliedAt);
  const first = reported[0]?.timeline.appliedAt ?? 0;
  proofs.fact(`all ${reported.length} tasks: ${((Math.max(...ends) - first) / 1000).toFixed(1)} s from kubectl apply to the last end`);
  for (const { timeline, trace } of reported) {
    const { name } = timeline.end.metadata;
    const { usage } = timeline.end.status?.totals ?? {};
    proofs.fact(`${name}: apply → ${timeline.end.status?.phase ?? 'end'} ${spent(timeline, timeline.states.at(-1)?.at)}`);
    proofs.fact(
      `${name}: apply → sandbox ready ${spent(timeline, readyAt(timeline))}, apply → first command ${spent(timeline, trace.firstExec)}`,
    );
    const claimed = warmClaimAt(timeline);
    if (claimed !== undefined && trace.firstExec !== undefined)
      proofs.fact(`${name}: warm claim → first command ${((trace.firstExec - claimed) / 1000).toFixed(1)} s`);
    const compared = [...new Set(trace.candidates.map(({ k }) => k).filter((k) => k !== undefined))].sort((a, b) => a - b);
    const k = compared.length === 0 ? '' : `, K ${compared.join(' ')}`;
    proofs.fact(
      `${name}: ${trace.candidates.length} candidates tried${k}, ${trace.execs} commands, ${usage?.toolCalls ?? '–'} tool calls charged`,
    );
  }
  await answerTimes(stage);
  for (const { timeline } of reported) await countWrites(stage, timeline);
  await memory(stage);
}

function spent({ appliedAt }: Timeline, at: number | undefined): string {
  return at === undefined ? 'never' : `${((at - appliedAt) / 1000).toFixed(1)} s`;
}

function readyAt({ states }: Timeline): number | undefined {
  return states.find(({ task }) => conditionOf(task, 'SandboxReady')?.status === 'True')?.at;
}

/** Returns the time at which the task was seen to have a sandbox that had waited for it; undefined when its sandbox was made for it. */
function warmClaimAt({ states }: Timeline): number | undefined {
  return states.find(({ task }) => task.status?.assignment?.warm === true)?.at;
}

/** Counts in the audit log of the API server, which the operator cannot influence. */
async function countWrites({ environment, proofs }: Stage, timeline: Timeline): Promise<void> {
  const { name } = timeline.end.metadata;
  const entries = await readAuditLog(environment.cluster, namespaces.tasks);
  const until = readyAt(timeline);
  if (entries === undefined || until === undefined) {
    proofs.fact(
      `${name}: writes are not counted, ${entries === undefined ? 'this cluster shows no audit log' : 'no sandbox became ready'}`,
    );
    return;
  }
  const seen = writes(entries, {
    username: `system:serviceaccount:${namespaces.system}:agentfleet-operator`,
    namespace: namespaces.tasks,
    objects: [`agenttasks/${name}`, `pods/${timeline.end.status?.assignment?.sandbox ?? ''}`, `pods/${name}-*`],
    from: timeline.appliedAt,
    until,
  });
  const list = seen.join(', ') || 'none in the audit log';
  const waited = waitedFor(timeline);
  if (waited !== undefined) {
    proofs.fact(`${name}: ${seen.length} writes of the operator; it waited for ${waited}, which is counted as well: ${list}`);
    return;
  }
  const claim = `${name}: at most ${writeBudget} writes of the operator until the sandbox was ready`;
  proofs.prove(claim, seen.length > 0 && seen.length <= writeBudget, list);
}

/** Resident memory of the first process of each pod, as the kernel counts it. */
async function memory({ kubectl, proofs }: Stage): Promise<void> {
  const wanted = [
    ['operator', namespaces.system, 'app.kubernetes.io/name=agentfleet'],
    ['worker', namespaces.pools, 'agentfleet.dev/component=worker'],
    ['expert', namespaces.pools, 'agentfleet.dev/component=expert'],
    ['verifier', namespaces.pools, 'agentfleet.dev/component=verifier'],
  ] as const;
  for (const [part, namespace, selector] of wanted) {
    const { items } = await kubectl.json<Pods>(['-n', namespace, 'get', 'pods', '-l', selector]);
    for (const { metadata } of items) {
      const program = "process.stdout.write(require('fs').readFileSync('/proc/1/status','utf8'))";
      const status = await kubectl.text(['-n', namespace, 'exec', metadata.name, '--', 'node', '-e', program]);
      const mebibytes = (field: string): string =>
        (Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024).toFixed(0);
      proofs.fact(`${part} ${metadata.name}: ${mebibytes('VmHWM')} MiB resident at its peak, ${mebibytes('VmRSS')} now`);
    }
  }
}
