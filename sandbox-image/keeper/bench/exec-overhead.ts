/**
 * Measures the cost of a command through the keeper: HTTP, intent on disk, journal, link, real runner,
 * beside starting the same program from Node directly. Needs root (a PID namespace) and Go.
 *
 *     node sandbox-image/keeper/bench/exec-overhead.ts [rounds]
 */
import { execFile } from 'node:child_process';
import process from 'node:process';
import { promisify } from 'node:util';
import { buildRunner, RealRunner, startHarness, ulid, waitUntil } from '../src/testing/index.ts';

const rounds = Number(process.argv[2] ?? 200);

async function measure(name: string, once: () => Promise<unknown>): Promise<void> {
  for (let warm = 0; warm < 20; warm++) await once();
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const started = performance.now();
    await once();
    times.push(performance.now() - started);
  }
  times.sort((a, b) => a - b);
  const at = (q: number): string => (times[Math.floor(q * (times.length - 1))] ?? 0).toFixed(2);
  process.stdout.write(`${name.padEnd(44)} p50 ${at(0.5)} ms   p95 ${at(0.95)} ms   (${rounds} rounds)\n`);
}

const built = await buildRunner();
if ('why' in built) throw new Error(built.why);
const harness = await startHarness({ env: { AGENTFLEET_RUNNER: built.binary } });
const runner = new RealRunner(built.binary, harness.linkPath, harness.linkKey);
const token = await harness.signer.token('6f9619ff-8b86-d011-b42d-00c04fc964ff');
const client = harness.client(1, () => Promise.resolve(token));
await waitUntil(async () => (await client.info()).ready, 10_000);
try {
  await measure('node execFile /bin/true', () => promisify(execFile)('/bin/true'));
  await measure('keeper GET /v1/info', () => client.info());
  await measure('keeper ExecCode /bin/true', () => client.run({ execId: ulid(), tool: 'ExecCode', argv: ['/bin/true'] }));
  await measure('keeper Shell, 1 MiB of output', () =>
    client.run({ execId: ulid(), tool: 'Shell', command: 'head -c 1048576 /dev/zero | tr "\\0" x' }),
  );
} finally {
  await runner.kill();
  await harness[Symbol.asyncDispose]();
}
