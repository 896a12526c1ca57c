import { readAuditLog, writes } from './audit.ts';
import type { Told } from './repair.ts';
import type { Course } from './follow.ts';
import { conditionOf, namespaces, type Stage } from './stage.ts';

/** Writes of the operator for one task until its sandbox is ready, Events apart. */
const writeBudget = 3;

/** Chapter 4: what it took. */
export async function figures(stage: Stage, repaired: Told, undone: Told): Promise<void> {
  const { proofs } = stage;
  proofs.chapter('4  Figures of this run');
  for (const { course, trace } of [repaired, undone]) {
    const { name } = course.end.metadata;
    const { usage } = course.end.status?.totals ?? {};
    proofs.fact(`${name}: apply → ${course.end.status?.phase ?? 'end'} ${spent(course, course.states.at(-1)?.at)}`);
    proofs.fact(
      `${name}: apply → sandbox ready ${spent(course, readyAt(course))}, apply → first command ${spent(course, trace.firstExec)}`,
    );
    proofs.fact(`${name}: ${trace.tried} candidates tried, ${trace.execs} commands, ${usage?.toolCalls ?? '–'} tool calls charged`);
  }
  await countWrites(stage, repaired.course, 'in a new namespace');
  await countWrites(stage, undone.course, writeBudget);
  await memory(stage);
}

function spent({ appliedAt }: Course, at: number | undefined): string {
  return at === undefined ? 'never' : `${((at - appliedAt) / 1000).toFixed(1)} s`;
}

function readyAt({ states }: Course): number | undefined {
  return states.find(({ task }) => conditionOf(task, 'SandboxReady')?.status === 'True')?.at;
}

/**
 * Counts in the audit log of the API server, which the operator cannot influence. The first task of a namespace waits until
 * the namespace is prepared, which takes a write more: it is told and not proved.
 */
async function countWrites({ ground, proofs }: Stage, course: Course, budget: number | string): Promise<void> {
  const { name } = course.end.metadata;
  const entries = await readAuditLog(ground.cluster, namespaces.tasks);
  const until = readyAt(course);
  if (entries === undefined || until === undefined) {
    proofs.fact(
      `${name}: writes are not counted, ${entries === undefined ? 'this cluster shows no audit log' : 'no sandbox became ready'}`,
    );
    return;
  }
  const seen = writes(entries, {
    username: `system:serviceaccount:${namespaces.system}:agentfleet-operator`,
    namespace: namespaces.tasks,
    objects: [`agenttasks/${name}`, `pods/${name}-*`],
    from: course.appliedAt,
    until,
  });
  const list = seen.join(', ') || 'none in the audit log';
  if (typeof budget === 'string') {
    proofs.fact(`${name}: ${seen.length} writes of the operator until the sandbox was ready, ${budget}: ${list}`);
    return;
  }
  const holds = seen.some((write) => write.startsWith('create pods')) && seen.length <= budget;
  proofs.prove(`${name}: at most ${budget} writes of the operator until the sandbox was ready`, holds, list);
}

interface Pods {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

/** Resident memory of the first process of each pod, as the kernel counts it. */
async function memory({ kubectl, proofs }: Stage): Promise<void> {
  const wanted = [
    ['operator', namespaces.system, 'app.kubernetes.io/name=agentfleet'],
    ['worker', namespaces.pools, 'agentfleet.dev/component=worker'],
  ] as const;
  for (const [part, namespace, selector] of wanted) {
    const { items } = await kubectl.json<Pods>(['-n', namespace, 'get', 'pods', '-l', selector]);
    for (const { metadata } of items) {
      const program = "process.stdout.write(require('fs').readFileSync('/proc/1/status','utf8'))";
      const status = await kubectl.text(['-n', namespace, 'exec', metadata.name, '--', 'node', '-e', program]);
      const kib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
      proofs.fact(`${part} ${metadata.name}: ${(kib / 1024).toFixed(0)} MiB resident`);
    }
  }
}
