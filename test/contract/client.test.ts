// The package of the typed client, as npm gets it, on a real API server with an operator: its types, and all that it does.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as client from '@agentfleet/client';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packClient } from '../../hack/cli.ts';
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import { enabled, until, whoAmI } from './api/server.ts';
import { TaskBed } from './taskBed.ts';

type Package = typeof client;
type Client = Awaited<ReturnType<Package['connect']>>;

const act = `sha256:${'a'.repeat(64)}`;
const usage = { tokensIn: 0, tokensOut: 0, toolCalls: 3, cpuMillis: 40, wallSeconds: 5, candidates: 6, vetoes: 0, backtracks: 1 };
const spec = {
  poolRef: { name: 'coding' },
  goal: 'Make it pass.',
  workspace: { type: 'Git' as const, git: { url: 'https://example.com/acme/parser', ref: 'main' } },
  checks: [{ name: 'unit', command: ['npm', 'test'] }],
};

const consumer = `import { connect, FleetError, type AgentTask, type TaskUpdate } from '@agentfleet/client';
export async function main(): Promise<AgentTask | undefined> {
  await using fleet = await connect({ namespace: 'demo' });
  const made = await fleet.create({ metadata: { generateName: 'a-' }, spec: ${JSON.stringify(spec)} });
  let last: TaskUpdate | undefined;
  for await (const update of fleet.follow(made.metadata.name)) last = update;
  // @ts-expect-error -- no such type of a workspace
  await fleet.create({ metadata: {}, spec: { ...made.spec, workspace: { type: 'Zip' } } }).catch((error: unknown) => error instanceof FleetError);
  return last?.task;
}
`;

describe.runIf(enabled)('the client', () => {
  let bed: TaskBed;
  let folder: string;
  let library: Package;
  let fleet: Client;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'client-'));
    await packClient(join(folder, 'package'));
    library = (await import(pathToFileURL(join(folder, 'package', 'index.mjs')).href)) as Package;
    bed = await TaskBed.start();
    fleet = await library.connect({ kubeconfig: await kubeconfigPath(), namespace: bed.namespace });
  });
  afterAll(async () => {
    await fleet.close();
    await bed.close();
    await rm(folder, { recursive: true, force: true });
  });

  const failure = (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => 'no failure',
      (error: unknown) => error,
    );

  it('has types that need no other package', async () => {
    await mkdir(join(folder, 'node_modules', '@agentfleet'), { recursive: true });
    await symlink(join(folder, 'package'), join(folder, 'node_modules', '@agentfleet', 'client'));
    await writeFile(join(folder, 'consumer.mts'), consumer);
    const flags = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--lib',
      'es2024,esnext.disposable,dom',
      '--types',
      '',
    ];
    const { exitCode, all } = await execa('tsc', [...flags, 'consumer.mts'], {
      cwd: folder,
      all: true,
      reject: false,
      localDir: join(import.meta.dirname, '..', '..'),
      preferLocal: true,
    });
    expect([exitCode, all]).toEqual([0, '']);
  });

  it('creates, follows, decides and ends a task, and continues following where another one stopped', async () => {
    const made = await fleet.create({ metadata: { name: 'one' }, spec });
    expect(made.spec.deadlineSeconds).toBe(3600);
    const seen: string[] = [];
    const versions: string[] = [];
    const orders: client.AgentTaskOrder[] = [];
    const following = (async () => {
      for await (const { phase, version, pending } of fleet.follow('one')) {
        if (seen.at(-1) !== phase) seen.push(phase ?? '-');
        versions.push(version);
        // As the README shows it: the act still stands in the status while its decision does already.
        if (pending === undefined || phase !== 'AwaitingApproval') continue;
        expect(await failure(fleet.answer('one', 'yes'))).toMatchObject({ code: 'AF_CLIENT_NOTHING_WAITS' });
        orders.push(await fleet.approve('one', { action: pending.action, reason: 'seen' }));
      }
    })();
    await bed.startSandbox('one');
    expect(await failure(fleet.approve('one'))).toMatchObject({ code: 'AF_CLIENT_NOTHING_WAITS' });
    const expires = `${new Date(Date.now() + 600_000).toISOString().slice(0, 19)}Z`;
    await bed.report('one', { usage, pendingApproval: { action: act, summary: 'push', expires } });
    await until('it is approved', async () => (await fleet.get('one')).status?.approvals?.[0]?.decision === 'Approved');
    expect(await failure(fleet.approve('one'))).toMatchObject({ code: 'AF_CLIENT_NOTHING_WAITS' });
    expect((await fleet.message('one', 'use port 8080')).status?.state).toMatch(/Accepted|Done/);
    await bed.report('one', { usage, outcome: { result: 'Succeeded', reason: 'ChecksHold' }, snapshots: { initial: 's0001' } });
    await following;
    const requester = await whoAmI(bed.server);
    expect(orders.map((order) => order.spec)).toEqual([expect.objectContaining({ action: act, reason: 'seen', requester })]);
    expect([seen.includes('AwaitingApproval'), seen.at(-1)]).toEqual([true, 'Succeeded']);
    expect(new Set(versions).size).toBe(versions.length);
    const later: string[] = [];
    for await (const { version } of fleet.follow('one', { since: versions.at(-3) ?? '' })) later.push(version);
    expect(later).toEqual(versions.slice(-2));
    expect((await fleet.list()).map(({ metadata }) => metadata.name)).toEqual(['one']);
  });

  it('cancels, and reports a deleted task to a follower', async () => {
    await fleet.create({ metadata: { name: 'two' }, spec });
    const following = failure(
      (async () => {
        for await (const _ of fleet.follow('two')) expect(_.finished).toBe(false);
      })(),
    );
    await until('the operator saw it', async () => (await fleet.get('two')).status?.phase !== undefined);
    await fleet.delete('two');
    expect(await following).toMatchObject({ code: 'AF_CLIENT_GONE' });
    await fleet.create({ metadata: { name: 'three' }, spec });
    await fleet.cancel('three', 'Terminate');
    expect((await fleet.finished('three')).status?.phase).toBe('Cancelled');
  });

  it('reports failures by code, with a cure', async () => {
    const wrong = { ...spec, goal: ' ' };
    expect(await failure(fleet.create({ metadata: { name: 'x' }, spec: wrong }))).toMatchObject({ code: 'AF_CLIENT_INVALID', status: 422 });
    const misspelt = { ...spec, gaol: 'x' };
    expect(String(await failure(fleet.create({ metadata: { name: 'x' }, spec: misspelt })))).toMatch(/AF_CLIENT_INVALID: .*spec\.gaol/);
    expect(await failure(fleet.create({ metadata: { name: 'one' }, spec }))).toMatchObject({ code: 'AF_CLIENT_EXISTS' });
    expect(await failure(fleet.get('nobody'))).toMatchObject({ code: 'AF_CLIENT_NOT_FOUND', cure: 'correct name and namespace' });
    await using nobody = await library.connect({ server: 'http://127.0.0.1:1', namespace: 'x' });
    const soon = AbortSignal.timeout(2000);
    expect(await failure(nobody.get('one', soon))).toMatchObject({ name: 'FleetError' });
  });
});
