/**
 * Measures how fast candidates are tried on a sandbox of a real node: `node hack/bootstrap.mjs
 * test/sandbox/attempt.bench.ts`. Beside it the time of the check alone, the lower bound of any engine.
 */
import { readFile } from 'node:fs/promises';
import { load } from 'js-yaml';
import { newExecId } from '@agentfleet/keeper/client';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import { startEnvironment } from '../../hack/environment/index.ts';
import { deleteNamespace, Kubectl, openSandbox, prepareNamespace } from '../../hack/sandbox/index.ts';
import { AttemptBed } from './attemptBed.ts';

const namespace = 'aft-attempt-bench';
const rounds = 20;

const environment = await startEnvironment({ log: () => undefined });
const kubectl = new Kubectl(environment.cluster);
const issuer = await prepareNamespace(kubectl, namespace);
const images = { sandboxImage: environment.image('sandbox'), toolsImage: environment.image('tools') };
await using bed = await AttemptBed.open();
try {
  await measure('fix-parser (Synth, one bug)', 'fix-parser', 100_000);
  await measure('cannot-be-met (Synth, cut off)', 'cannot-be-met', 400);
} finally {
  await deleteNamespace(kubectl, namespace);
}

/** Runs one attempt of an example, printed as one line. */
async function measure(what: string, name: string, toolCalls: number): Promise<void> {
  const file = new URL(`../../examples/${name}.yaml`, import.meta.url);
  const { spec } = load(await readFile(file, 'utf8')) as { readonly spec: Partial<AgentTaskSpec> };
  const sandbox = await openSandbox(kubectl, { namespace, issuer, ...images });
  try {
    let first: number | undefined;
    let last = 0;
    const run = bed.begin(sandbox, {
      spec: { ...spec, budget: { toolCalls } },
      onReport({ progress }) {
        if (progress?.message?.startsWith('trying ') !== true) return;
        last = performance.now();
        first ??= last;
      },
    });
    const started = performance.now();
    const { result, reason } = await bed.engine.run(run.context);
    const whole = (performance.now() - started) / 1000;
    const candidates = run.reported.usage?.candidates ?? 0;
    const search = (last - (first ?? last)) / 1000;
    const check = await checkAlone(sandbox.clientWith({}));
    const line = `${candidates} candidates, ${(candidates / search).toFixed(1)} per s, ${((search / candidates) * 1000).toFixed(0)} ms each`;
    console.log(`${what}: ${result} (${reason}) in ${whole.toFixed(1)} s; ${line}; the check alone ${check.toFixed(0)} ms`);
  } finally {
    await sandbox.close();
  }
}

/** Median time of the check through the keeper, ms. */
async function checkAlone(client: Awaited<ReturnType<typeof openSandbox>>['client']): Promise<number> {
  const times: number[] = [];
  const argv = ['python3', '-m', 'unittest', '-v'];
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    await client.run({ execId: newExecId(), tool: 'ExecCode', argv, cwd: '/workspace' });
    times.push(performance.now() - started);
  }
  return times.sort((a, b) => a - b)[rounds / 2] ?? Number.NaN;
}
