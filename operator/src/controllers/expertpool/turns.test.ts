import { testAccess } from '../../serving/testing/access.ts';
import { createHash } from 'node:crypto';
import { canonical } from '@agentfleet/kube';
import type { ExpertPool, PlanStatus } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import { describe, expect, test } from 'vitest';
import { turnsName, turnstileName } from '../../pools/names.ts';
import type { Pod } from '../../runtime/objects.ts';
import { newPool } from '../agenttask/testing/objects.ts';
import { decidePool } from './decide.ts';
import type { Manifest } from './manifests/manifest.ts';
import { turnstileLabel } from './manifests/turnstile.ts';
import type { PoolSnapshot } from './snapshot.ts';
import { poolStatus } from './status.ts';
import { deployment, newSnapshot } from './testing/snapshots.ts';
import { weightsViews } from './weights/index.ts';

type Part = Readonly<Record<string, unknown>>;
type Assignments = PlanStatus['assignments'];

const gib = 2 ** 30;
const architecture = { layers: 28, kvHeads: 4, headSize: 128, hiddenSize: 3584, feedForwardSize: 18_944, vocabulary: 152_064 };

const engine = (name: string, more: Part = {}, vLLM: Part = {}): Part => ({
  name,
  role: name === 'gen' ? 'Generalist' : 'Specialist',
  engine: { type: 'VLLM', vLLM: { image: 'vllm:1', ...vLLM } },
  artifact: { uri: `pvc://models/${name}` },
  residency: 'Swap',
  ...more,
});

const seat = (item: string, more: Partial<Assignments[number]> = {}): Assignments[number] => ({
  item,
  slot: 'dgx-1/gpu0',
  bytes: gib,
  awakeBytes: 17 * gib,
  claim: 'slot-dgx-1-gpu0-0123456789',
  admitted: true,
  ...more,
});

/** A place that is one engine's always. */
function always(item: string): Assignments[number] {
  const { awakeBytes: _awake, ...place } = seat(item);
  return place;
}

const both: Assignments = [seat('gen'), seat('go')];

function snapshotOf(experts: readonly Part[], assignments: Assignments | undefined, parts: Partial<PoolSnapshot> = {}): PoolSnapshot {
  const base = newSnapshot(newPool({ experts }), parts);
  const plan = assignments === undefined ? undefined : { hash: '0123456789abcdef', mode: 'DRA', assignments };
  const found = weightsViews({ pool: base.pool, others: [], pods: [], progress: new Map() });
  const weights = found.map((view) => ({
    ...view,
    state: { ...view.state, phase: 'Ready' as const, digest: `sha256:${'a'.repeat(64)}`, weightBytes: 14.2 * gib, architecture },
  }));
  return { ...base, pool: { ...base.pool, status: { plan } } as unknown as ExpertPool, weights };
}

interface Env {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef: { readonly fieldPath: string } };
}
interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly env?: readonly Env[];
  readonly resources: { readonly requests?: Readonly<Record<string, string>>; readonly claims?: readonly object[] };
}
interface Rendered {
  readonly replicas: number;
  readonly strategy: object;
  readonly template: {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> };
    readonly spec: { readonly containers: readonly Container[]; readonly initContainers?: readonly Container[] };
  };
}

const decided = (...of: Parameters<typeof snapshotOf>): readonly Manifest[] => decidePool(snapshotOf(...of)).apply;
const named = (all: readonly Manifest[], kind: string, name: string): Manifest['object'] | undefined =>
  all.map(({ object }) => object).find((object) => object.kind === kind && object.metadata.name === name);
const specOf = (all: readonly Manifest[], name: string): Rendered => named(all, 'Deployment', name)?.['spec'] as Rendered;
const envOf = ({ env = [] }: Container): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(env.map(({ name, value, valueFrom }) => [name, value ?? valueFrom?.fieldRef.fieldPath]));

const name = turnstileName('coding', 'dgx-1/gpu0');
const turns = {
  AGENTFLEET_TURNSTILE: `http://${name}.platform.svc:7090`,
  AGENTFLEET_TURN_ITEM: 'gen',
  AGENTFLEET_POD_NAME: 'metadata.name',
  AGENTFLEET_POD_IP: 'status.podIP',
};

describe('an engine that takes turns', () => {
  const all = decided([engine('gen'), engine('go')], both);
  const { containers, initContainers = [] } = specOf(all, 'coding-expert-gen').template.spec;

  test('waits for its turn before it loads, when its weights have been looked at', () => {
    expect(initContainers.map((one) => one.name)).toEqual(['weights', 'turn', 'engine']);
    const [, turn, vllm] = initContainers as [Container, Container, Container];
    expect(turn).toMatchObject({ image: 'inference:1', args: ['await-turn'] });
    const token = { AGENTFLEET_TOKEN_FILE: '/var/run/agentfleet/token/token' };
    expect(envOf(turn)).toEqual({ ...turns, ...token, AGENTFLEET_UPSTREAM: 'http://127.0.0.1:8000' });
    expect(envOf(containers[0] as Container)).toMatchObject(token);
    expect(turn.resources.claims).toBeUndefined();
    expect(vllm.args).toContain('--enable-sleep-mode');
    expect(envOf(vllm)).toMatchObject({ VLLM_SERVER_DEV_MODE: '1' });
    expect(vllm.resources.claims).toHaveLength(1);
  });

  test('is asked by a server that asks for each turn, and not put to sleep by it', () => {
    const [server] = containers as readonly [Container];
    expect(envOf(server)).toMatchObject(turns);
    expect(Object.keys(envOf(server))).not.toContain('AGENTFLEET_SLEEP_AFTER_SECONDS');
  });

  test('asks for memory of the host for its weights; one that never sleeps does not', () => {
    const memory = (residency: string): string | undefined => {
      const made = decided([engine('gen', { residency })], [residency === 'Swap' ? seat('gen') : always('gen')]);
      return specOf(made, 'coding-expert-gen').template.spec.initContainers?.find((one) => one.name === 'engine')?.resources.requests?.[
        'memory'
      ];
    };
    expect([memory('Swap'), memory('Sleep'), memory('Always')]).toEqual(['23Gi', '23Gi', '8Gi']);
  });

  test('is what the ledger counts it as: a change of residency waits for its place', () => {
    const made = (residency: string, place: Assignments[number]): readonly (boolean | undefined)[] => {
      const init = specOf(decided([engine('gen', { residency })], [place]), 'coding-expert-gen').template.spec.initContainers ?? [];
      const sleeps = init.find((one) => one.name === 'engine')?.args?.includes('--enable-sleep-mode');
      return [init.some((one) => one.name === 'turn'), sleeps];
    };
    expect(made('Always', seat('gen'))).toEqual([true, true]);
    expect(made('Swap', always('gen'))).toEqual([false, false]);
    expect(made('Sleep', always('gen'))).toEqual([false, true]);
  });
});

describe('the turnstile of a slot', () => {
  test('is one process of our image, never two at once, with the longest of the times of its members', () => {
    const experts = [engine('gen', {}, { turnSeconds: 5 }), engine('go', { warmup: { timeoutSeconds: 3600 } }, { turnSeconds: 40 })];
    const { replicas, strategy, template } = specOf(decided(experts, both), name);
    expect([replicas, strategy]).toEqual([1, { type: 'Recreate' }]);
    const [it] = template.spec.containers as readonly [Container];
    expect(it).toMatchObject({ image: 'inference:1', args: ['turnstile'] });
    expect(envOf(it)).toEqual({
      AGENTFLEET_TURN_SECONDS: '40',
      AGENTFLEET_LOAD_SECONDS: '3600',
      AGENTFLEET_ISSUER: testAccess.issuer,
      AGENTFLEET_AUDIENCE: 'agentfleet-experts:platform',
      AGENTFLEET_CALLERS: `system:serviceaccount:platform:*,${testAccess.operator}`,
      AGENTFLEET_METRICS_READERS: testAccess.metricsReaders.join(','),
    });
  });

  test('has a template that changes with none of its members and with no version of the operator', () => {
    const of = (assignments: Assignments): string => canonical(specOf(decided([engine('gen'), engine('go')], assignments), name).template);
    expect(of([seat('gen')])).toBe(of(both));
    expect(of([seat('go', { admitted: false, bytes: 5 })])).toBe(of(both));
    expect(createHash('sha256').update(of(both)).digest('hex').slice(0, 16)).toMatchInlineSnapshot(`"6b8716ef318127a4"`);
  });

  test('is there once for each slot, also while its last engine leaves, and goes with it', () => {
    const made = (assignments: Assignments | undefined): readonly string[] =>
      decided([engine('gen', { residency: 'Always' })], assignments)
        .filter(({ object }) => object.metadata.labels[labels.component] === 'turnstile')
        .map(({ object }) => `${object.kind} ${object.metadata.name}`);
    const two = [turnstileName('coding', 'dgx-1/gpu0'), turnstileName('coding', 'dgx-1/gpu1')];
    const [zero = '', one = ''] = two;
    const walls = [turnsName('coding', 'dgx-1/gpu0'), turnsName('coding', 'dgx-1/gpu1')];
    const kinds = (it: string, wall: string | undefined): readonly string[] => [
      `NetworkPolicy ${it}`,
      `NetworkPolicy ${wall}`,
      `Service ${it}`,
      `Deployment ${it}`,
    ];
    expect(made([seat('gone'), seat('old', { slot: 'dgx-1/gpu1' })])).toEqual([...kinds(zero, walls[0]), ...kinds(one, walls[1])]);
    expect(made([always('gen')])).toEqual([]);
    expect(two.every((it) => it.length <= 63)).toBe(true);
    expect(turnstileName('p'.repeat(60), `${'n'.repeat(200)}/gpu0`).length).toBeLessThanOrEqual(63);
    expect(new Set(['a-b/gpu0', 'a/b-gpu0', 'a.b/gpu0'].map((slot) => turnstileName('p', slot))).size).toBe(3);
  });

  test('is removed when no engine takes turns any more, but not while nobody has looked', () => {
    const children = decided([engine('gen')], [seat('gen')]);
    const parts = { children: children.map(({ resource, object }) => ({ resource, object })) };
    const removed = (assignments: Assignments | undefined): readonly string[] =>
      decidePool(snapshotOf([engine('gen')], assignments, parts)).remove.map(({ object }) => object.metadata.name);
    expect(removed([])).toEqual(expect.arrayContaining([name, turnsName('coding', 'dgx-1/gpu0')]));
    expect(removed([])).toHaveLength(4);
    expect(removed(undefined)).toEqual([]);
  });
});

describe('walls', () => {
  const all = decided([engine('gen'), engine('go'), engine('js', { residency: 'Always' })], [...both, always('js')]);
  const wall = (of: string): Readonly<Record<string, unknown>> =>
    named(all, 'NetworkPolicy', of)?.['spec'] as Readonly<Record<string, unknown>>;
  const own = { [labels.component]: 'turnstile', [labels.pool]: 'coding', [turnstileLabel]: name };
  const members = {
    matchLabels: { [labels.component]: 'expert', [labels.pool]: 'coding' },
    matchExpressions: [{ key: labels.expert, operator: 'In', values: ['gen', 'go'] }],
  };

  test('let only members reach the turnstile, and it reaches nothing but their engines', () => {
    const { podSelector, policyTypes, ingress, egress } = wall(name);
    expect([podSelector, policyTypes]).toEqual([{ matchLabels: own }, ['Ingress', 'Egress']]);
    expect(ingress).toEqual([
      {
        from: [
          { podSelector: members },
          expect.objectContaining({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'agentfleet-system' } } }),
        ],
        ports: [{ protocol: 'TCP', port: 7090 }],
      },
    ]);
    expect(egress).toEqual([{ to: [{ podSelector: members }], ports: [{ protocol: 'TCP', port: 8000 }] }]);
  });

  test('let Prometheus in where its namespace is named', () => {
    const heard = decided([engine('gen')], [seat('gen')], { prometheusNamespace: 'monitoring' });
    const spec = named(heard, 'NetworkPolicy', name)?.['spec'] as { ingress: readonly { from: readonly object[] }[] } | undefined;
    expect(spec?.ingress[0]?.from).toContainEqual({ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } });
    expect(JSON.stringify(wall(name))).not.toContain('monitoring');
  });

  test('let members reach the turnstile and names, and be put to sleep by it alone', () => {
    const { podSelector, ingress, egress } = wall(turnsName('coding', 'dgx-1/gpu0'));
    const it = [{ podSelector: { matchLabels: own } }];
    expect(podSelector).toEqual(members);
    expect(ingress).toEqual([{ from: it, ports: [{ protocol: 'TCP', port: 8000 }] }]);
    expect((egress as readonly object[])[0]).toEqual({ to: it, ports: [{ protocol: 'TCP', port: 7090 }] });
    expect(JSON.stringify(wall('coding-experts'))).not.toContain('8000');
  });
});

describe('what a pool says of a turnstile that does not answer', () => {
  const broken: Pod = {
    metadata: {
      name: 't-0',
      namespace: 'platform',
      labels: { [labels.component]: 'turnstile', [labels.pool]: 'coding', [turnstileLabel]: name },
    },
    status: {
      phase: 'Pending',
      containerStatuses: [
        { name: 'turnstile', ready: false, restartCount: 0, state: { waiting: { reason: 'ImagePullBackOff', message: 'no such image' } } },
      ],
    },
  } as unknown as Pod;
  const wordOf = (parts: Partial<PoolSnapshot>) => {
    const snapshot = snapshotOf([engine('gen'), engine('go')], both, parts);
    return poolStatus(snapshot, decidePool(snapshot), 0).conditions?.find(({ type }) => type === 'EnginesReady');
  };

  test('names the engines, why, and where to look', () => {
    const silent = new Map([deployment(name, 1, { readyReplicas: 0 })]);
    expect(wordOf({ deployments: silent, pods: [broken] })).toMatchObject({
      status: 'False',
      reason: 'TurnstileNotReady',
      message: `engines on dgx-1/gpu0 (gen, go) that sleep cannot be woken: Deployment ${name}: container turnstile: ImagePullBackOff: no such image; see to that pod`,
    });
    expect(wordOf({})).toMatchObject({ reason: 'TurnstileNotReady' });
  });

  test('is nothing once it answers', () => {
    expect(wordOf({ deployments: new Map([deployment(name, 1)]) })?.reason).not.toBe('TurnstileNotReady');
  });
});
