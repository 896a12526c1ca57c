// Judgements of GitOps tools about tasks in every state that an operator leaves on a real API server: kstatus and the
// health expressions of Flux by its own libraries, the health script of Argo CD by its own Lua.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { load, loadAll } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildFamilies, goFacts } from '../../hack/cluster/build/binaries.ts';
import { up } from '../../hack/cluster/index.ts';
import { fullPolicy } from './api/rolloutExamples.ts';
import { collection, enabled, until, type Stored } from './api/server.ts';
import { TaskBed } from './taskBed.ts';

const examples = fileURLToPath(new URL('../../examples/gitops/', import.meta.url));
const usage = { tokensIn: 0, tokensOut: 0, toolCalls: 3, cpuMillis: 40, wallSeconds: 5, candidates: 6, vetoes: 0, backtracks: 1 };
const digest = `sha256:${'a'.repeat(64)}`;

interface Health {
  readonly kstatus: string;
  readonly flux: string;
  readonly argo: string;
  readonly message: string;
}

describe.runIf(enabled)('tools of GitOps', () => {
  let bed: TaskBed;
  let program: string;
  let argo: string;
  let flux: object;

  beforeAll(async () => {
    const go = await goFacts();
    if (go === undefined) throw new Error('the program that asks their libraries is built with Go, and there is no go command here');
    program = (await buildFamilies(['gitops'], go, (line) => console.log(line))).path('object-health');
    const map = load(await readFile(`${examples}argocd/argocd-cm.yaml`, 'utf8')) as { readonly data: Readonly<Record<string, string>> };
    const custom = load(map.data['resource.customizations'] ?? '') as Readonly<Record<string, Readonly<Record<string, string>>>>;
    argo = custom['agentfleet.dev/*']?.['health.lua'] ?? '';
    const manifests = loadAll(await readFile(`${examples}flux/fleet.yaml`, 'utf8')) as Stored[];
    flux = manifests.flatMap(({ spec }) => (spec['healthCheckExprs'] ?? []) as object[])[0]!;
    bed = await TaskBed.start();
  }, 600_000);
  afterAll(() => bed.close());

  const ask = async (object: object, own = true): Promise<Health> => {
    const { stdout } = await execa(program, { input: `${JSON.stringify({ object, argo, ...(own ? { flux } : {}) })}\n` });
    return JSON.parse(stdout) as Health;
  };
  const healthOf = async (name: string): Promise<Health> =>
    ask((await bed.server.ask('GET', `${collection(bed.namespace, 'agenttasks')}/${name}`)).body);
  const reports = (name: string, type: string, value: string): Promise<void> =>
    until(`${name}: ${type} is ${value}`, async () => (await bed.reported(name, type)).startsWith(`${value}/`));
  const expires = (): string => `${new Date(Date.now() + 600_000).toISOString().slice(0, 19)}Z`;
  const states: Readonly<Record<string, readonly [() => Promise<void>, Omit<Health, 'message'>]>> = {
    prepared: [
      async () => {
        await bed.create('prepared');
        await reports('prepared', 'Reconciling', 'True');
      },
      { kstatus: 'InProgress', flux: 'InProgress', argo: 'Progressing' },
    ],
    suspended: [
      async () => {
        await bed.create('suspended', { suspend: true });
        await reports('suspended', 'Suspended', 'True');
      },
      { kstatus: 'InProgress', flux: 'Current', argo: 'Suspended' },
    ],
    refused: [
      async () => {
        await bed.create('refused', { profile: 'unheard-of' });
        await reports('refused', 'Stalled', 'True');
      },
      { kstatus: 'Failed', flux: 'Failed', argo: 'Degraded' },
    ],
    asks: [
      async () => {
        await bed.create('asks');
        await bed.startSandbox('asks');
        await bed.report('asks', { usage, pendingApproval: { action: digest, summary: 'git push', expires: expires() } });
        await reports('asks', 'AwaitingApproval', 'True');
      },
      { kstatus: 'InProgress', flux: 'Current', argo: 'Suspended' },
    ],
    succeeded: [
      async () => {
        await bed.create('succeeded');
        await bed.startSandbox('succeeded');
        await bed.report('succeeded', { usage, outcome: { result: 'Succeeded', reason: 'ChecksPassed', message: 'all checks passed' } });
        await reports('succeeded', 'Finished', 'True');
      },
      { kstatus: 'Current', flux: 'Current', argo: 'Healthy' },
    ],
    cancelled: [
      async () => {
        await bed.create('cancelled', { suspend: true });
        await reports('cancelled', 'Suspended', 'True');
        const path = `${collection(bed.namespace, 'agenttasks')}/cancelled`;
        await bed.server.ask('PATCH', path, { body: { spec: { cancel: 'Stop', suspend: false } }, type: 'application/merge-patch+json' });
        await reports('cancelled', 'Finished', 'True');
      },
      { kstatus: 'Failed', flux: 'Failed', argo: 'Degraded' },
    ],
  };

  it.each(Object.keys(states))('see a task that is %s as it is', async (name) => {
    const [reach, expected] = states[name]!;
    await reach();
    const { message, ...health } = await healthOf(name);
    expect(health).toEqual(expected);
    expect(message).not.toBe('');
  });

  it('wait for a task that no operator has processed, and for an unanswered change', async () => {
    const path = `${collection(bed.namespace, 'agenttasks')}/succeeded`;
    const { status, ...rest } = (await bed.server.ask('GET', path)).body;
    expect(await ask(rest)).toMatchObject({ flux: 'Unknown', argo: 'Progressing' });
    const changed = { ...rest, metadata: { ...rest.metadata, generation: rest.metadata.generation + 1 }, status };
    expect(await ask(changed)).toMatchObject({ kstatus: 'InProgress', flux: 'InProgress', argo: 'Progressing' });
  });

  it('see kinds without a status as there', async () => {
    expect(await ask({ ...fullPolicy, metadata: { name: 'p', namespace: 'n' } }, false)).toMatchObject({
      kstatus: 'Current',
      argo: 'Healthy',
    });
  });

  it('get no manifest from examples/ that Kustomize cannot build', async () => {
    const cluster = await up({ tier: 'control-plane' });
    const { stdout } = await execa(cluster.bin('kubectl'), ['kustomize', `${examples}fleet`]);
    const kinds = (loadAll(stdout) as Stored[]).map(({ kind }) => kind);
    expect(kinds.toSorted()).toEqual(['AgentTask', 'ExpertPool', 'Namespace', 'Namespace']);
  });
});
