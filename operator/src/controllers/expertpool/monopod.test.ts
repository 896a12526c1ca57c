import type { Expert, PlanStatus, RolloutStatus } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { describe, expect, it } from 'vitest';
import type { Deployment, Pod } from '../../runtime/objects.ts';
import { resources } from '../../runtime/resources.ts';
import { enginePortName, enginesAnnotation } from '../../serving/index.ts';
import { newPool } from '../agenttask/testing/objects.ts';
import { decidePool, type PoolDecision } from './decide.ts';
import { engineStates } from './monopodState.ts';
import type { PoolSnapshot } from './snapshot.ts';
import { poolStatus } from './status.ts';
import { deployment, newSnapshot, worker } from './testing/snapshots.ts';

const expert = (name: string, role: string, more: object = {}): object => ({
  name,
  role,
  replicas: 1,
  domains: ['*'],
  engine: { type: 'Synth' },
  resources: { memory: { budget: '9Gi' } },
  ...more,
});
const policy = { name: 'policy', role: 'Policy', replicas: 1, domains: ['*'], engine: { type: 'Builtin' } };
const experts = [expert('js', 'Specialist'), expert('gen', 'Generalist'), policy];
const places = { gen: 'dgx-1/gpu0', js: 'dgx-1/gpu1' };

const planOf = (slots: Readonly<Record<string, string>> = places): PlanStatus => ({
  hash: '0123456789abcdef',
  mode: 'Monopod',
  assignments: Object.entries(slots).map(([item, slot]) => ({ item, slot, bytes: 1, admitted: true })),
});

function snapshotOf(parts: Partial<PoolSnapshot> = {}, plan: PlanStatus | undefined = planOf(), all: readonly object[] = experts) {
  const pool = newPool({ experts: all as unknown as Expert[] });
  return newSnapshot({ ...pool, status: plan === undefined ? {} : { plan } }, parts);
}

const namesOf = ({ apply }: PoolDecision, kind: string): string[] =>
  apply.filter(({ object }) => object.kind === kind).map(({ object }) => object.metadata.name);

/** What is made of this name, as a program reads it. */
function made({ apply }: PoolDecision, kind: string, name: string): unknown {
  const found = apply.find(({ object }) => object.kind === kind && object.metadata.name === name);
  return found?.object['spec'];
}

interface Template {
  readonly replicas: number;
  readonly template: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
    readonly spec: { readonly containers: readonly { readonly env: readonly { readonly name: string; readonly value: string }[] }[] };
  };
}

const told = (decision: PoolDecision): unknown =>
  JSON.parse(
    (made(decision, 'Deployment', 'coding-monopod') as Template).template.spec.containers[0]?.env.find(
      ({ name }) => name === 'AGENTFLEET_SUPERVISE',
    )?.value ?? '',
  );

const owned = (name: string) => ({
  resource: resources.deployments,
  object: {
    metadata: {
      name,
      namespace: 'platform',
      ownerReferences: [{ apiVersion: 'agentfleet.dev/v1alpha1', kind: 'ExpertPool', name: 'coding', uid: 'uid-pool', controller: true }],
    },
  },
});

describe('a pool whose engines share a pod', () => {
  it('has one Deployment for those on GPUs, and those without a GPU have their own', () => {
    const decision = decidePool(snapshotOf());
    expect(namesOf(decision, 'Deployment')).toEqual(['coding-expert-policy', 'coding-monopod', 'coding-workers']);
    expect(told(decision)).toEqual([
      { name: 'gen', port: 7081, environment: { AGENTFLEET_ENGINE: 'Synth', AGENTFLEET_ROLES: 'Generalist' }, gpus: [0] },
      { name: 'js', port: 7082, environment: { AGENTFLEET_ENGINE: 'Synth', AGENTFLEET_ROLES: 'Specialist' }, gpus: [1] },
    ]);
    expect((made(decision, 'Deployment', 'coding-monopod') as Template).replicas).toBe(1);
  });

  it('has its Services by the same names, each for the port of its engine', () => {
    const decision = decidePool(snapshotOf());
    expect(namesOf(decision, 'Service')).toEqual(['coding-expert-js', 'coding-expert-gen', 'coding-expert-policy']);
    const pods = (made(decision, 'Deployment', 'coding-monopod') as Template).template.metadata.labels;
    for (const name of ['gen', 'js']) {
      const service = made(decision, 'Service', `coding-expert-${name}`) as { readonly selector: object; readonly ports: unknown };
      expect(service.selector).toEqual(pods);
      expect(service.ports).toMatchObject([{ port: 7080, targetPort: enginePortName(name) }]);
    }
    expect(made(decision, 'Service', 'coding-expert-policy')).toMatchObject({ selector: { [labels.expert]: 'policy' } });
    const wall = made(decision, 'NetworkPolicy', 'coding-experts') as {
      readonly ingress: readonly { readonly ports: readonly { readonly port: number }[] }[];
    };
    expect(wall.ingress[0]?.ports.map(({ port }) => port)).toEqual([7080, 7081, 7082]);
  });

  it('removes the pods that engines had of their own, and starts when they are gone', () => {
    const children = ['coding-expert-gen', 'coding-expert-policy', 'coding-monopod'].map(owned);
    expect(decidePool(snapshotOf({ children })).remove.map(({ object }) => object.metadata.name)).toEqual(['coding-expert-gen']);
    const own = { [labels.component]: 'expert', [labels.pool]: 'coding', [labels.expert]: 'gen' };
    const before: Pod = { metadata: { name: 'old', labels: own, annotations: { 'agentfleet.dev/slot': 'dgx-1/gpu0' } } };
    expect((made(decidePool(snapshotOf({ pods: [before] })), 'Deployment', 'coding-monopod') as Template).replicas).toBe(0);
    const free: Pod = { metadata: { name: 'old', labels: own } };
    expect((made(decidePool(snapshotOf({ pods: [free] })), 'Deployment', 'coding-monopod') as Template).replicas).toBe(1);
  });

  it('loses the pod with the plan that had it, and not while nobody has looked', () => {
    const children = [owned('coding-monopod')];
    const removed = (snapshot: PoolSnapshot): string[] => decidePool(snapshot).remove.map(({ object }) => object.metadata.name);
    expect(removed(snapshotOf({ children }, { ...planOf(), mode: 'WholeGPU' }))).toEqual(['coding-monopod']);
    const unseen = snapshotOf({ children });
    const { status: _none, ...pool } = unseen.pool;
    expect(removed({ ...unseen, pool })).toEqual([]);
  });

  it('has no such pod where engines have revisions', () => {
    const children = [owned('coding-monopod')];
    const arm = { revision: 'r1', experts: [], images: snapshotOf().images };
    const status = { phase: 'Idle', stable: 'r1' } as unknown as RolloutStatus;
    const rollout = { status, serving: arm, plain: new Set<string>(), arms: [arm], record: undefined, keep: [], againMs: 1 };
    const decision = decidePool(snapshotOf({ children, rollout }));
    expect(namesOf(decision, 'Deployment')).toEqual(['coding-workers']);
    expect(decision.remove.map(({ object }) => object.metadata.name)).toEqual(['coding-monopod']);
  });

  it('leaves the pod as it is while an engine cannot be in it', () => {
    const children = [owned('coding-monopod')];
    const tape = { engine: { type: 'Replay', replay: { configMap: { name: 'tape' } } } };
    const vllm = { engine: { type: 'VLLM', vLLM: { image: 'vllm:1' } } };
    for (const [more, obstacles] of [
      [tape, 1],
      [vllm, 0],
      [{ replicas: 2 }, 0],
    ] as const) {
      const replays = new Map([
        ['tape', { hash: undefined, reason: 'ReplayNotFound', message: 'no' }],
      ]) as unknown as PoolSnapshot['replays'];
      const decision = decidePool(
        snapshotOf({ children, replays }, planOf(), [expert('gen', 'Generalist', more), expert('js', 'Specialist')]),
      );
      expect(namesOf(decision, 'Deployment')).toEqual(['coding-workers']);
      expect([decision.remove, decision.obstacles.length]).toEqual([[], obstacles]);
    }
  });

  it('reads the recording of each from a folder of its own', () => {
    const tape = { engine: { type: 'Replay', replay: { configMap: { name: 'tape' } } } };
    const replays = new Map([['tape', { hash: 'abc' }]]) as unknown as PoolSnapshot['replays'];
    const decision = decidePool(snapshotOf({ replays }, planOf(), [expert('gen', 'Generalist', tape), expert('js', 'Specialist')]));
    expect(told(decision)).toMatchObject([{ environment: { AGENTFLEET_REPLAY: '/etc/agentfleet/replay/gen' } }, {}]);
    const again = decidePool(
      snapshotOf({ replays: new Map([['tape', { hash: 'other' }]]) as unknown as PoolSnapshot['replays'] }, planOf(), [
        expert('gen', 'Generalist', tape),
        expert('js', 'Specialist'),
      ]),
    );
    const specOf = (of: PoolDecision): unknown => (made(of, 'Deployment', 'coding-monopod') as Template).template;
    expect(specOf(again)).not.toEqual(specOf(decision));
  });
});

describe('the status of experts in one pod', () => {
  const engines = 'gen=dgx-1/gpu0:7081 js=dgx-1/gpu1:7082';
  const pod: Pod = {
    metadata: {
      name: 'm',
      namespace: 'platform',
      labels: { [labels.component]: 'expert', [labels.pool]: 'coding' },
      annotations: { [enginesAnnotation]: engines },
    },
    spec: { containers: [{ name: 'inference', image: 'inference:1' }] },
    status: { podIP: '10.0.0.9' },
  };
  const good = (ready: number, more: Partial<PoolSnapshot> = {}): PoolSnapshot => {
    const deployments = new Map<string, Deployment>([
      deployment('coding-monopod', 1, { readyReplicas: ready }),
      deployment('coding-workers', 1),
      deployment('coding-expert-policy', 1),
    ]);
    return snapshotOf({ deployments, pods: [worker('w-1'), pod], alive: new Set(['w-1']), ...more });
  };
  const statesOf = (snapshot: PoolSnapshot) => {
    const status = poolStatus(snapshot, { apply: [], remove: [], obstacles: [] }, 0);
    return Object.fromEntries((status.experts ?? []).map((state) => [state.name, state]));
  };
  const digest = `sha256:${'a'.repeat(64)}`;
  const infos = new Map([['gen', { digest, artifact: null, shadow: null }]]);

  it('is that of the one Deployment, with what each tells of itself', () => {
    const states = statesOf(good(1, { monopod: { infos, engines: new Map() } }));
    expect(states['gen']).toMatchObject({
      phase: 'Ready',
      replicas: 1,
      ready: 1,
      digest,
      endpoint: 'http://coding-expert-gen.platform.svc:7080',
    });
    expect(states['js']).toMatchObject({ phase: 'Ready', replicas: 1, ready: 1 });
    expect(states['js']?.digest).toBeUndefined();
  });

  it('names the engine that is not ready, and the others stay so', () => {
    const state = { ready: false, restarts: 3, ended: 'ended by SIGKILL' };
    const told = new Map([
      ['gen', { ...state, ready: true }],
      ['js', state],
    ]);
    const states = statesOf(good(0, { monopod: { infos, engines: told } }));
    expect(states['gen']).toMatchObject({ phase: 'Ready', ready: 1 });
    expect(states['js']).toMatchObject({
      phase: 'Starting',
      ready: 0,
      message: 'in pod coding-monopod: ended by SIGKILL, restarted 3 times',
    });
  });

  it('is that of the pod while nobody tells', () => {
    const states = statesOf(good(0));
    for (const name of ['gen', 'js'])
      expect(states[name]).toMatchObject({ phase: 'Starting', ready: 0, message: expect.stringContaining('0 of 1') as string });
  });

  it('believes a supervisor nothing that is no word of one', () => {
    const lastExit = { code: 1, signal: null };
    const children = [{ name: 'gen', ready: 'yes', restarts: -1.5, lastExit }, 7, { ready: true }];
    expect([...engineStates({ children })]).toEqual([['gen', { ready: false, restarts: 0, ended: 'ended with exit code 1' }]]);
    for (const answer of [undefined, 'x', { children: 7 }]) expect(engineStates(answer).size).toBe(0);
  });
});
