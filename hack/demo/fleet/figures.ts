import { answerTimes } from './answerTimes.ts';
import { readAuditLog, writes } from './audit.ts';
import type { Timeline } from './follow.ts';
import { conditionOf, namespaces, type Stage, type Reported } from './stage.ts';

/** Writes of the operator for one task until its sandbox is ready, Events apart. */
const writeBudget = 3;

/** What it took. */
export async function figures(stage: Stage, reported: readonly Reported[]): Promise<void> {
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

/** When the task was seen to have a sandbox that had waited for it; undefined when its sandbox was made for it. */
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
  if (timeline.states.some(({ task }) => conditionOf(task, 'SandboxReady')?.reason === 'Unschedulable')) {
    proofs.fact(`${name}: ${seen.length} writes of the operator; its sandbox waited for room on the node, which is told as well: ${list}`);
    return;
  }
  const claim = `${name}: at most ${writeBudget} writes of the operator until the sandbox was ready`;
  proofs.prove(claim, seen.length > 0 && seen.length <= writeBudget, list);
}

interface Pods {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
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
