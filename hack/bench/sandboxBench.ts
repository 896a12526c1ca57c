import { readFile } from 'node:fs/promises';
import { newExecId } from '@agentfleet/keeper/client';
import { processesOf, runningContainers } from '../sandbox/index.ts';
import { deleteNamespace, Kubectl, openSandbox, prepareNamespace, type Sandbox } from '../sandbox/index.ts';
import type { TestEnvironment } from '../environment/index.ts';
import { quantile } from '@agentfleet/protocol/stats';
import type { Row } from './report/table.ts';

const namespace = 'agentfleet-bench';
const rounds = 60;

/** Opens one sandbox and measures start, exec overhead and memory. */
export async function sandboxBench(environment: TestEnvironment): Promise<readonly Row[]> {
  const kubectl = new Kubectl(environment.cluster);
  await deleteNamespace(kubectl, namespace);
  const issuer = await prepareNamespace(kubectl, namespace);
  const options = { namespace, issuer, sandboxImage: environment.image('sandbox'), toolsImage: environment.image('tools') };
  const started = performance.now();
  const sandbox = await openSandbox(kubectl, options);
  const ready = performance.now() - started;
  try {
    const idle = await memory(kubectl, sandbox, 'a sandbox that waits for its task');
    return [
      { measure: 'sandbox pod: apply → ready and connected', ours: ready / 1000, unit: 's', note: 'images present' },
      ...idle,
      await firstExec(sandbox),
      await execOverhead(sandbox),
      ...(await memory(kubectl, sandbox, `after ${rounds} commands`)),
    ];
  } finally {
    await sandbox.close();
    await deleteNamespace(kubectl, namespace);
  }
}

/** The first command that a worker sends to a sandbox that has waited for it. */
async function firstExec(sandbox: Sandbox): Promise<Row> {
  // The connection and the worker's token are there; no command was asked for yet.
  await sandbox.client.info();
  const started = performance.now();
  const { end } = await sandbox.client.run({ execId: newExecId(), tool: 'ExecCode', argv: ['/bin/true'] });
  return {
    measure: 'warm sandbox: first command, request → end',
    ours: performance.now() - started,
    unit: 'ms',
    note: `one sample; of it ${end.durationMs.toFixed(1)} ms in the runner; with port-forward`,
  };
}

/** Time of `true` through the keeper beside the time that a bare spawn of it takes in the same container. */
async function execOverhead(sandbox: Sandbox): Promise<Row> {
  const bare = `python3 - <<'P'
import subprocess, time, statistics
t = []
for _ in range(${rounds}):
    a = time.perf_counter(); subprocess.run(["/bin/true"]); t.append((time.perf_counter() - a) * 1000)
print(statistics.median(t))
P`;
  const plain = await sandbox.client.run({ execId: newExecId(), tool: 'Shell', command: bare, timeoutSeconds: 60 });
  const whole: number[] = [];
  const inside: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    const { end } = await sandbox.client.run({ execId: newExecId(), tool: 'ExecCode', argv: ['/bin/true'] });
    whole.push(performance.now() - started);
    inside.push(end.durationMs);
  }
  return {
    measure: 'exec of `true`: median, request → end',
    ours: quantile(whole, 0.5),
    unit: 'ms',
    peer: { name: 'bare spawn', value: Number(plain.stdout) },
    note: `of it ${quantile(inside, 0.5).toFixed(1)} ms in the runner; the rest is journal, HTTP and port-forward`,
  };
}

/** Measures the memory of the processes of a container: RSS, and beside it PSS, where a page that several processes share counts once. */
async function memory(kubectl: Kubectl, sandbox: Sandbox, when: string): Promise<readonly Row[]> {
  const containers = await runningContainers(kubectl, sandbox);
  const rows: Row[] = [];
  for (const [name, label] of [
    ['keeper', 'keeper'],
    ['tools', 'runner'],
  ] as const) {
    const processes = await processesOf(containers.get(name) ?? '');
    const of = async (field: 'Rss' | 'Pss'): Promise<number> => sum(await Promise.all(processes.map((pid) => mebibytes(pid, field))));
    const note = `PSS ${(await of('Pss')).toFixed(1)} MiB, ${processes.length} ${processes.length === 1 ? 'process' : 'processes'}`;
    rows.push({ measure: `${label} RSS, ${when}`, ours: await of('Rss'), unit: 'MiB', note });
  }
  return rows;
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

/** Of a process; 0 when it has just ended. */
async function mebibytes(pid: number, field: 'Rss' | 'Pss'): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) / 1024;
}
