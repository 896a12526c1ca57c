import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { mismatch, readTrace } from '@agentfleet/cli/evidence';
import { ResourceClient } from '@agentfleet/kube';
import { resources } from '@agentfleet/operator/resources';
import type { AgentTask } from '@agentfleet/protocol/api';
import { traceName } from '@agentfleet/protocol/results';
import { openArtifacts, type Artifacts } from '../../hack/demo/fleet/artifacts.ts';
import type { Kubectl } from '../../hack/sandbox/index.ts';
import { foreignKeys, inventory, orphansOf } from './inventory.ts';
import { factsOf, type Evidence, type LogFacts } from './judge.ts';
import type { Stage } from './stage.ts';
import type { Drawn } from './tasks.ts';
import type { Watch } from './watch.ts';

interface Wishes {
  readonly submitted: readonly Drawn[];
  /** Objects that were there before the first task. */
  readonly before: ReadonlySet<string>;
  /** Most time until what ended tasks hold is gone. */
  readonly settleMs: number;
}

const atOnce = 8;
const pollMs = 2000;

/** Collects what there is to judge by. */
export async function gather(stage: Stage, watch: Watch, { submitted, before, settleMs }: Wishes): Promise<Evidence> {
  const { kubectl, namespace, storage, transport } = stage;
  let orphans = await leftIn(stage, before);
  for (const until = performance.now() + settleMs; orphans.length > 0 && performance.now() < until; orphans = await leftIn(stage, before))
    await sleep(pollMs);
  // Not the watch's cache: the API server is asked for those that are still there.
  const there = await new ResourceClient(transport, resources.agentTasks).list({ namespace });
  const uidsThere = new Set(there.map(({ metadata }) => metadata.uid));
  const tasks = [...there, ...watch.gone.filter(({ metadata }) => !uidsThere.has(metadata.uid))];
  const artifacts = await openArtifacts(kubectl, storage);
  try {
    const uids = new Set(tasks.map(({ metadata }) => metadata.uid ?? ''));
    const keys = await artifacts.list(`${namespace}/`);
    return {
      submitted,
      tasks,
      ledger: await readLedger(kubectl, namespace),
      logs: await readLogs(artifacts, tasks),
      broken: watch.broken,
      orphans: [...orphans, ...foreignKeys(keys, uids).map((key) => `key ${key}`)],
    };
  } finally {
    await artifacts.close();
  }
}

async function readLedger(kubectl: Kubectl, namespace: string): Promise<Readonly<Record<string, number>>> {
  const path = `/api/v1/namespaces/${namespace}/pods/provider:8080/proxy/ledger`;
  return (JSON.parse(await kubectl.text(['get', '--raw', path])) as { readonly entries: Record<string, number> }).entries;
}

async function readLogs(artifacts: Artifacts, tasks: readonly AgentTask[]): Promise<ReadonlyMap<string, LogFacts>> {
  const logs = new Map<string, LogFacts>();
  const left = [...tasks];
  const read = async (): Promise<void> => {
    for (let task = left.pop(); task !== undefined; task = left.pop()) {
      const facts = await logOf(artifacts, task);
      if (facts !== undefined) logs.set(task.metadata.name, facts);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, read));
  return logs;
}

async function logOf(artifacts: Artifacts, { status }: AgentTask): Promise<LogFacts | undefined> {
  const artifact = status?.run?.artifacts?.find(({ name }) => name === traceName);
  if (artifact === undefined) return undefined;
  const content = await artifacts.get(artifact.uri).catch((error: unknown) => String(error));
  if (typeof content === 'string') return factsOf([], [`its event log cannot be read: ${content}`]);
  const wrong = mismatch(artifact, content);
  const trace = await readTrace(content, status?.run?.auditRoot);
  const faults = wrong === null ? [] : [`its event log is not that of the status: ${wrong}`];
  if (!trace.ok) faults.push(`its event log is broken: ${JSON.stringify(trace.faults[0] ?? trace)}`);
  return factsOf(trace.read, faults);
}

interface Listed {
  readonly items: readonly { readonly metadata: { readonly name: string; readonly uid: string; readonly namespace: string } }[];
}

/** Objects that came since and belong to no pod of a part, and processes of pods that are gone. */
async function leftIn({ kubectl, namespace }: Stage, before: ReadonlySet<string>): Promise<readonly string[]> {
  const [now, { items }] = [await inventory(kubectl, namespace), await kubectl.json<Listed>(['get', 'pods', '-A'])];
  const selector = 'agentfleet.dev/component in (worker,gateway)';
  const parts = await kubectl.json<Listed>(['-n', namespace, 'get', 'pods', '-l', selector]);
  const replaced = new Set(parts.items.map(({ metadata }) => metadata.name));
  const uids = new Set(items.map(({ metadata }) => metadata.uid));
  return [...orphansOf(before, now, replaced), ...(await strayProcesses(uids)).map((pid) => `process ${pid} of a pod that is gone`)];
}

/** Processes in the group of a pod that is none of those. */
async function strayProcesses(uids: ReadonlySet<string>): Promise<readonly string[]> {
  const stray: string[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const text = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
    const uid = /\/kubepods[^\n]*\/pod(?<uid>[0-9a-f_-]{36})\//.exec(text)?.groups?.['uid']?.replaceAll('_', '-');
    if (uid !== undefined && !uids.has(uid)) stray.push(pid);
  }
  return stray;
}
