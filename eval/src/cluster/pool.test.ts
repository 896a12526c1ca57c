import { createTransport, defineResource, ResourceClient, systemClock, type Transport } from '@agentfleet/kube';
import { startFakeServer, type FakeApiServer } from '@agentfleet/kube/testing';
import { apiVersion, agentTask, type AgentTask } from '@agentfleet/protocol/api';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { PackTask } from '../format/index.ts';
import { full, variantsOf, type Attempted, type Variant } from '../run/index.ts';
import { pack } from '../testing/records.ts';
import { ClusterPool, type ClusterPoolOptions } from './pool.ts';

const tasks = defineResource<AgentTask>(apiVersion, agentTask.kind, agentTask.plural);
const namespaces = defineResource('v1', 'Namespace', 'namespaces', false);
const task = pack(1, 'assert secret').tasks[0] as PackTask;
const usage = { tokensIn: 7, tokensOut: 1, toolCalls: 5, cpuMillis: 40, wallSeconds: 2, candidates: 4, vetoes: 1, backtracks: 0 };

let server: FakeApiServer;
let transport: Transport;
let client: ResourceClient<AgentTask>;
let judged: string[];
beforeEach(async () => {
  server = await startFakeServer({ kinds: [{ resource: tasks }] });
  transport = createTransport(server.config, { userAgent: 'test' });
  client = new ResourceClient(transport, tasks);
  await new ResourceClient(transport, namespaces).create({ metadata: { name: 'eval' } });
  judged = [];
});
afterEach(async () => {
  await transport.close();
  await server.close();
});

const poolAt = (changed: Partial<ClusterPoolOptions> = {}): ClusterPool =>
  new ClusterPool({
    transport,
    clock: systemClock,
    tasks,
    pool: { name: 'coding', namespace: 'pools' },
    namespace: 'eval',
    judge: (_, patch) => {
      judged.push(patch);
      return Promise.resolve(patch.includes('right'));
    },
    ...changed,
  });

/** Plays operator and worker for the next task. */
async function finish(status: object): Promise<AgentTask> {
  const found = await vi.waitUntil(() => server.objects(tasks)[0], { timeout: 20_000, interval: 10 });
  await client.patch({ name: found.metadata.name, namespace: 'eval' }, { status });
  return found;
}

async function attempt(status: object, variant = full): Promise<{ attempted: Attempted; sent: AgentTask }> {
  const signal = new AbortController().signal;
  const [attempted, sent] = await Promise.all([poolAt().attempt(task, variant, { seed: 3, round: 1, signal }), finish(status)]);
  return { attempted, sent };
}

const succeeded = (patch: string): object => ({
  phase: 'Succeeded',
  finished: 'true',
  run: { attempt: 1, epoch: 1, outcome: { result: 'Succeeded', reason: 'ChecksHold' }, usage, patch },
});

test('makes a task, judges its patch and removes it', async () => {
  const { attempted, sent } = await attempt(succeeded('right\n'));
  expect(attempted).toMatchObject({ result: 'Succeeded', hidden: 'Passed', usage: { candidates: 4, vetoes: 1 } });
  expect(sent.spec).toMatchObject({ poolRef: { name: 'coding', namespace: 'pools' }, budget: { toolCalls: 150 } });
  expect(JSON.stringify(sent)).not.toMatch(/secret|h\.py/);
  expect(server.objects(tasks)).toEqual([]);
  expect((await attempt(succeeded('wrong\n'))).attempted.hidden).toBe('Failed');
  expect(judged).toEqual(['right\n', 'wrong\n']);
});

test('does not judge half a patch', async () => {
  const { attempted } = await attempt(succeeded('right\n… cut; the whole is the artifact change.patch\n'));
  expect(attempted).toMatchObject({
    result: 'Error',
    hidden: 'NotJudged',
    message: expect.stringMatching(/is cut in its status/) as string,
  });
  expect(judged).toEqual([]);
});

test('reports why a task was not accepted', async () => {
  const condition = { type: 'Accepted', status: 'False', reason: 'ProfileNotFound', message: 'there is no profile K4' };
  const { attempted, sent } = await attempt(
    { phase: 'Failed', finished: 'true', conditions: [condition] },
    { ...full, name: 'K4', profile: 'K4' },
  );
  expect(sent.spec.profile).toBe('K4');
  expect(attempted).toMatchObject({ result: 'Error', reason: 'ProfileNotFound', hidden: 'NotJudged' });
});

test('requests an ablation as the worker reads it, and reports when the pool refuses it', async () => {
  const [, ablated, dry] = variantsOf(['Backtracking', 'Snapshot']) as [Variant, Variant, Variant];
  const message = 'the pool does not allow its tasks the ablation Backtracking';
  const outcome = { result: 'Failed', class: 'InvalidInput', reason: 'AblationRefused', message };
  const refused = await attempt({ phase: 'Failed', finished: 'true', run: { attempt: 1, epoch: 1, outcome, usage } }, ablated);
  expect(refused.sent.metadata.annotations).toMatchObject({ 'agentfleet.dev/ablate': 'Backtracking' });
  expect(refused.attempted).toMatchObject({ result: 'Error', reason: 'AblationRefused', message, hidden: 'NotJudged' });
  const { sent } = await attempt(succeeded('right\n'), dry);
  expect(sent.spec).toMatchObject({ snapshots: { policy: 'InitialOnly' } });
  expect(sent.metadata.annotations).not.toHaveProperty('agentfleet.dev/ablate');
  expect((await attempt(succeeded('right\n'))).sent.spec).not.toHaveProperty('snapshots');
});

test('finds a task again that a run before has made', async () => {
  const signal = new AbortController();
  const first = poolAt().attempt(task, full, { seed: 3, round: 1, signal: signal.signal });
  await vi.waitUntil(() => server.objects(tasks).length === 1, { timeout: 20_000, interval: 10 });
  signal.abort(new Error('cut off'));
  await expect(first).rejects.toThrow();
  expect((await attempt(succeeded('right\n'))).attempted.hidden).toBe('Passed');
});

test('waits for a task of its name that is being deleted, and makes it anew', async () => {
  const stop = new AbortController();
  const options = { seed: 3, round: 1, signal: stop.signal };
  const first = poolAt().attempt(task, full, options);
  const { metadata } = await vi.waitUntil(() => server.objects(tasks)[0], { timeout: 20_000, interval: 10 });
  stop.abort(new Error('cut off'));
  await expect(first).rejects.toThrow();
  const key = { name: metadata.name, namespace: 'eval' };
  await client.patch(key, { metadata: { finalizers: ['agentfleet.dev/sandbox'] } });
  await client.delete(key);
  const asked = server.requests.length;
  const second = poolAt().attempt(task, full, { ...options, signal: new AbortController().signal });
  await vi.waitUntil(() => server.requests.length > asked + 3, { timeout: 20_000, interval: 10 });
  await client.patch(key, { metadata: { finalizers: null } });
  await vi.waitUntil(() => server.objects(tasks).some((one) => one.metadata.uid !== metadata.uid), { timeout: 20_000, interval: 10 });
  await finish(succeeded('right\n'));
  expect(await second).toMatchObject({ result: 'Succeeded', hidden: 'Passed' });
});

test('gives each attempt an AgentTask of its own, whatever tells it from another one', async () => {
  const stop = new AbortController();
  const options = { seed: 3, round: 1, signal: stop.signal };
  const attempts = [
    poolAt().attempt(task, full, options),
    poolAt().attempt(task, full, { ...options, round: 2 }),
    poolAt().attempt(task, full, { ...options, run: 'another' }),
    poolAt({ pool: { name: 'other', namespace: 'pools' } }).attempt(task, full, options),
    poolAt({ budget: { toolCalls: 5, wallSeconds: 60 } }).attempt(task, full, options),
    poolAt().attempt(task, { ...full, profile: 'deep' }, options),
    poolAt().attempt(pack(1, 'assert another secret').tasks[0] as PackTask, full, options),
  ];
  const ends = Promise.allSettled(attempts);
  await vi.waitFor(() => expect(server.objects(tasks)).toHaveLength(attempts.length), { timeout: 10_000, interval: 10 });
  stop.abort(new Error('cut off'));
  await ends;
});

test('takes no AgentTask for its own that is not what it asks for', async () => {
  const stop = new AbortController();
  const first = poolAt().attempt(task, full, { seed: 3, round: 1, signal: stop.signal });
  const { metadata } = await vi.waitUntil(() => server.objects(tasks)[0], { timeout: 20_000, interval: 10 });
  stop.abort(new Error('cut off'));
  await expect(first).rejects.toThrow();
  await client.patch({ name: metadata.name, namespace: 'eval' }, { spec: { poolRef: { name: 'other', namespace: 'pools' } } });
  const { attempted } = await attempt(succeeded('right\n'));
  expect(attempted).toMatchObject({
    result: 'Error',
    hidden: 'NotJudged',
    message: expect.stringMatching(/^AgentTask eval\/mini-sum-t0-\w+ exists and is not what is asked for; delete it/) as string,
  });
  expect(server.objects(tasks)).toHaveLength(1);
});
