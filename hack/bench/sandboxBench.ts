import { readFile } from 'node:fs/promises';
import { newExecId } from '@agentfleet/keeper/client';
import { processesOf, runningContainers } from '../sandbox/index.ts';
import { deleteNamespace, Kubectl, openSandbox, prepareNamespace, type Sandbox } from '../sandbox/index.ts';
import type { Ground } from '../ground/index.ts';
import { median, type Row } from './table.ts';

const namespace = 'agentfleet-bench';
const rounds = 60;

/** Opens one sandbox and measures start, exec overhead and memory. */
export async function sandboxBench(ground: Ground): Promise<readonly Row[]> {
  const kubectl = new Kubectl(ground.cluster);
  await deleteNamespace(kubectl, namespace);
  const issuer = await prepareNamespace(kubectl, namespace);
  const options = { namespace, issuer, sandboxImage: ground.image('sandbox'), toolsImage: ground.image('tools') };
  const started = performance.now();
  const sandbox = await openSandbox(kubectl, options);
  const ready = performance.now() - started;
  try {
    return [
      { measure: 'sandbox pod: apply → ready and connected', ours: ready / 1000, unit: 's', note: 'images present' },
      await execOverhead(sandbox),
      ...(await residentMemory(kubectl, sandbox)),
    ];
  } finally {
    await sandbox.close();
    await deleteNamespace(kubectl, namespace);
  }
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
    ours: median(whole),
    unit: 'ms',
    peer: { name: 'bare spawn', value: Number(plain.stdout) },
    note: `of it ${median(inside).toFixed(1)} ms in the runner; the rest is journal, HTTP and port-forward`,
  };
}

async function residentMemory(kubectl: Kubectl, sandbox: Sandbox): Promise<readonly Row[]> {
  const containers = await runningContainers(kubectl, sandbox);
  const rows: Row[] = [];
  for (const [name, label] of [
    ['keeper', 'keeper RSS'],
    ['tools', 'runner RSS, idle'],
  ] as const) {
    const id = containers.get(name) ?? '';
    const sizes = await Promise.all((await processesOf(id)).map(residentMiB));
    rows.push({ measure: label, ours: sizes.reduce((sum, size) => sum + size, 0), unit: 'MiB' });
  }
  return rows;
}

async function residentMiB(pid: number): Promise<number> {
  const match = /VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8'));
  return Number(match?.[1] ?? 0) / 1024;
}
