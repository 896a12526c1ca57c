// `fleet backup` and `fleet restore` on a real API server: restored objects, their status, and refusals.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '@agentfleet/cli';
import { systemClock } from '@agentfleet/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubeconfigPath } from '../../hack/cluster/index.ts';
import { fullPool, fullScale, fullTaskStatus, minimalTask } from './api/examples.ts';
import { fullPolicy } from './api/rolloutExamples.ts';
import { collection, connect, createNamespace, enabled, install, until, type Server, type Stored } from './api/server.ts';

describe.runIf(enabled)('a backup', () => {
  let server: Server;
  let namespace: string;
  let folder: string;
  let file: string;
  let kept: Stored;

  const fleet = async (...args: readonly string[]): Promise<{ readonly code: number; readonly said: string }> => {
    let said = '';
    const write = (text: string): void => void (said += text);
    const env = { KUBECONFIG: await kubeconfigPath() };
    const { signal } = new AbortController();
    const code = await run(args, { env, clock: systemClock, random: Math.random, terminal: false, signal, out: write, err: write });
    return { code, said };
  };
  const at = (plural: string, name: string): string => `${collection(namespace, plural)}/${name}`;
  const create = async (plural: string, name: string, from: object, spec: object = {}): Promise<void> => {
    const body = { ...from, metadata: { name, namespace }, spec: { ...(from as Stored).spec, ...spec } };
    const { status, body: answer } = await server.ask('POST', collection(namespace, plural), { body });
    if (status !== 201) throw new Error(answer.message);
  };
  const report = async (plural: string, name: string, status: object): Promise<void> => {
    const type = 'application/merge-patch+json';
    const answer = await server.ask('PATCH', `${at(plural, name)}/status`, { body: { status }, type });
    if (answer.status !== 200) throw new Error(answer.body.message);
  };
  const read = async (plural: string, name: string): Promise<Stored> => (await server.ask('GET', at(plural, name))).body;

  beforeAll(async () => {
    server = await connect();
    await install(server);
    namespace = await createNamespace(server);
    folder = await mkdtemp(join(tmpdir(), 'fleet-backup-'));
    file = join(folder, 'fleet.yaml');
    await create('rolloutpolicies', 'careful', fullPolicy);
    await create('expertpools', 'coding', fullPool);
    await create('expertscales', 'more', fullScale, { poolRef: { name: 'coding' } });
    for (const name of ['ended', 'begun', 'waits']) await create('agenttasks', name, minimalTask);
    await report('agenttasks', 'ended', { ...(fullTaskStatus as Record<string, object>), finished: 'true' });
    await report('agenttasks', 'begun', { ...(fullTaskStatus as Record<string, object>), finished: 'false' });
    kept = await read('agenttasks', 'ended');
    // An operator that another file killed counts as running until its Lease is over.
    const nothing = join(folder, 'nothing.yaml');
    await writeFile(nothing, '');
    await until('no operator of another file leads', async () => (await fleet('restore', nothing)).code === 0);
  });
  afterAll(async () => {
    await server.ask('DELETE', `/api/v1/namespaces/${namespace}`);
    await rm(folder, { recursive: true });
  });

  it('is one file with every object, and names what is not in it', async () => {
    const { code, said } = await fleet('backup', file, '-n', namespace);
    expect([code, said.split('\n')[0]]).toEqual([
      0,
      `${file}: 1 rolloutpolicies, 0 poolgrants, 0 energymodels, 1 expertpools, 1 expertscales, 3 agenttasks, 0 agenttaskorders`,
    ]);
    const text = await readFile(file, 'utf8');
    expect(text).toMatch(/^#   Secret .*\//m);
    expect(text).not.toMatch(/^ {2}(uid|resourceVersion|generation|managedFields|ownerReferences):/m);
  });

  it('is refused while an operator runs', async () => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
    const spec = { holderIdentity: 'somebody', leaseDurationSeconds: 15, renewTime: new Date().toISOString().replace('Z', '000Z') };
    await server.ask('POST', path, { body: { metadata: { name: 'agentfleet-operator' }, spec } });
    const { code, said } = await fleet('restore', file);
    expect([code, said]).toEqual([1, expect.stringContaining(`kubectl -n ${namespace} scale deployment agentfleet-operator --replicas=0`)]);
    await server.ask('DELETE', `${path}/agentfleet-operator`);
  });

  it('makes objects again: ended tasks with their status, begun ones suspended, all others as they were', async () => {
    const before = {
      pool: await read('expertpools', 'coding'),
      policy: await read('rolloutpolicies', 'careful'),
      scale: await read('expertscales', 'more'),
    };
    for (const plural of ['agenttasks', 'expertpools', 'expertscales', 'rolloutpolicies'])
      await server.ask('DELETE', collection(namespace, plural));
    const { code, said } = await fleet('restore', file);
    expect([code, said]).toEqual([0, expect.stringContaining('6 made, 0 there already, 0 refused')]);
    expect((await read('expertpools', 'coding')).spec).toEqual(before.pool.spec);
    expect((await read('rolloutpolicies', 'careful')).spec).toEqual(before.policy.spec);
    expect((await read('expertscales', 'more')).spec).toEqual(before.scale.spec);
    const ended = await read('agenttasks', 'ended');
    const { storage: _s, sandbox: _b, queue: _q, messages: _m, conditions, ...status } = kept.status as Record<string, unknown>;
    const generation = ended.metadata.generation;
    expect(ended.status).toEqual({
      ...status,
      observedGeneration: generation,
      conditions: (conditions as object[]).map((condition) => ({ ...condition, observedGeneration: generation })),
    });
    const managers = ended.metadata.managedFields?.filter(({ subresource }) => subresource === 'status').map(({ manager }) => manager);
    expect(managers?.toSorted()).toEqual(['agentfleet-operator', 'agentfleet-worker']);
    expect(await read('agenttasks', 'begun')).toMatchObject({ spec: { suspend: true } });
    expect((await read('agenttasks', 'begun')).status).toBeUndefined();
    expect(await read('agenttasks', 'waits')).toMatchObject({ spec: { suspend: false } });
  });

  it('changes nothing the second time', async () => {
    const { code, said } = await fleet('restore', file);
    expect([code, said]).toEqual([0, expect.stringContaining('0 made, 6 there already, 0 refused')]);
  });

  it('is refused with a cure where a field is gone, a namespace is missing, or a rollout was under way', async () => {
    const text = await readFile(file, 'utf8');
    const one = text.split('---\n').find((part) => part.includes('name: waits'))!;
    const pool = text.split('---\n').find((part) => part.includes('kind: ExpertPool'))!;
    const gone = one.replace('name: waits', 'name: gone').replace('\nspec:', '\nspec:\n  madeUp: 1');
    const elsewhere = one.replaceAll(namespace, 'no-such-namespace');
    const tried = `${pool.replace('name: coding', 'name: tried')}status: {rollout: {phase: Canary, canary: coding-2}}\n`;
    const other = join(folder, 'other.yaml');
    await writeFile(other, [gone, elsewhere, tried].join('---\n'));
    const { code, said } = await fleet('restore', other);
    expect(code).toBe(1);
    expect(said).toMatch(/AgentTask .*\/gone: .*unknown field "spec\.madeUp"/);
    expect(said).toContain('AgentTask no-such-namespace/waits: there is no namespace no-such-namespace; make it');
    expect(said).toMatch(/ExpertPool .*\/tried: its rollout was Canary, .*--open-rollouts/);
    expect((await fleet('restore', other, '--open-rollouts')).said).toContain('1 made, 0 there already, 2 refused');
  });

  it('leaves an ended task whose status is refused suspended, and ends it in a later call', async () => {
    const text = await readFile(file, 'utf8');
    const lost = text
      .split('---\n')
      .find((part) => part.includes('name: ended'))!
      .replace('name: ended', 'name: lost');
    const other = join(folder, 'other.yaml');
    await writeFile(other, lost.replace('\nstatus:', '\nstatus:\n  madeUp: 1'));
    const { code, said } = await fleet('restore', other);
    expect([code, said]).toEqual([1, expect.stringMatching(/lost: it is there and suspended, .*madeUp/)]);
    const left = await read('agenttasks', 'lost');
    expect([left.spec, left.status]).toEqual([expect.objectContaining({ suspend: true }), undefined]);
    expect((await fleet('restore', other)).said).toMatch(/lost: it is there, and its status is not restored: .*madeUp/);
    await writeFile(other, lost);
    expect((await fleet('restore', other)).code).toBe(0);
    expect(await read('agenttasks', 'lost')).toMatchObject({
      spec: { suspend: false },
      status: { finished: 'true', observedGeneration: 2 },
    });
  });

  it('is no backup when it holds something else', async () => {
    const other = join(folder, 'other.yaml');
    await writeFile(other, 'apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\n');
    expect(await fleet('restore', other)).toEqual({
      code: 1,
      said: expect.stringContaining('document 1 is no object of agentfleet.dev') as string,
    });
  });
});
