import { type RecordedArm, adapterRoom, serverHash } from '../../operands/index.ts';
import type { ExpertPool } from '@agentfleet/protocol/api';
import type { RolloutReport } from '../../revisions/index.ts';
import { describe, expect, test } from 'vitest';
import { newPool } from '../agenttask/testing/objects.ts';
import { decidePool } from './decide.ts';
import { desiredArm, planOf, withPlan } from './rollouts.ts';
import type { PoolSnapshot } from './snapshot.ts';
import { newSnapshot } from './testing/snapshots.ts';
import { weightsViews } from './manifests/weights.ts';
import { rolloutStatus } from '../../revisions/testing/status.ts';

type Part = Readonly<Record<string, unknown>>;

const core: Part = {
  name: 'core',
  role: 'Generalist',
  engine: { type: 'VLLM', vLLM: { image: 'vllm:1' } },
  artifact: { uri: 'pvc://models/core' },
  resources: { memory: { budget: '9Gi' } },
};
const adapter = (folder: string, more: Part = {}): Part => ({
  name: 'py',
  role: 'Specialist',
  domains: ['python'],
  engine: { type: 'Adapter', adapter: { base: 'core', rank: 32 } },
  artifact: { uri: `pvc://models/${folder}` },
  ...more,
});

const rolloutPolicyRef = { name: 'careful' };
const poolOf = (experts: readonly Part[]): ExpertPool => newPool({ rolloutPolicyRef, experts });
const asked = (experts: readonly Part[]): PoolSnapshot => newSnapshot(poolOf(experts));

const status = (stable: RecordedArm, canary: RecordedArm): RolloutReport =>
  rolloutStatus({ phase: 'Loading', stable: stable.revision, canary: canary.revision });

/** What an adapter's server asks and loads, and what the engines are started with, by the names of their Deployments. */
function servers(before: readonly Part[], after: readonly Part[]): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const [one, two] = [desiredArm(asked(before)), desiredArm(asked(after))];
  const snapshot = asked(after);
  const architecture = { layers: 28, kvHeads: 4, headSize: 128, hiddenSize: 3584, feedForwardSize: 18_944, vocabulary: 152_064 };
  const found = weightsViews({
    pool: snapshot.pool,
    others: [...one.experts, ...two.experts],
    pods: [],
    progress: new Map(),
    images: { agent: 'agent:1' },
  });
  const weights = found.map((view) => ({
    ...view,
    state: { ...view.state, phase: 'Ready' as const, digest: `sha256:${'a'.repeat(64)}`, weightBytes: 1, architecture },
  }));
  const seats = [one, two].flatMap((arm) =>
    arm.experts.map((expert) => ({
      item: `${expert.name}.${serverHash(arm, expert)}`,
      slot: 'dgx-1/gpu0',
      bytes: 2 ** 36,
      admitted: true,
    })),
  );
  const rolling = status(one, two);
  const assignments = [...new Map(seats.map((seat) => [seat.item, seat])).values()];
  const plan = { hash: '0123456789abcdef', mode: 'DRA', assignments };
  const whole: PoolSnapshot = {
    ...snapshot,
    pool: { ...snapshot.pool, status: { plan, rollout: rolling } } as unknown as ExpertPool,
    recorded: new Map([one, two].map((arm) => [arm.revision, arm])),
    weights,
  };
  const inUse = (): boolean => true;
  const { apply } = decidePool(withPlan(whole, planOf(whole, rolling, inUse, 0)));
  const made = apply.filter(({ object }) => object.kind === 'Deployment' && object.metadata.name.includes('-expert-'));
  return Object.fromEntries(
    made.map(({ object }) => {
      const { spec } = (object['spec'] as { template: { spec: PodSpec } }).template;
      const env = Object.fromEntries((spec.containers[0]?.env ?? []).map(({ name, value = '' }) => [name, value]));
      const args = spec.initContainers?.find(({ name }) => name === 'engine')?.args?.join(' ') ?? '';
      return [object.metadata.name, { ...env, args }];
    }),
  );
}

interface PodSpec {
  readonly containers: readonly { readonly env?: readonly { readonly name: string; readonly value?: string }[] }[];
  readonly initContainers?: readonly { readonly name: string; readonly args?: readonly string[] }[];
}

const named = (all: ReturnType<typeof servers>, expert: string) =>
  Object.entries(all).flatMap(([name, reported]) => (name.startsWith(`coding-expert-${expert}-`) ? [{ name, reported }] : []));

describe('a revision of an adapter', () => {
  test('is loaded beside the old one on the same engine, under its own name', () => {
    const all = servers([core, adapter('py-1')], [core, adapter('py-2')]);
    const [engine, ...more] = named(all, 'core');
    expect(more).toEqual([]);
    // Room for both of them, from the beginning.
    expect(engine?.reported['args']).toContain('--max-loras 2 --max-lora-rank 32');
    const adapters = named(all, 'py');
    expect(adapters).toHaveLength(2);
    expect(new Set(adapters.map(({ reported }) => reported['AGENTFLEET_UPSTREAM']))).toEqual(
      new Set([`http://${engine?.name ?? ''}.platform.svc:8000`]),
    );
    const names = adapters.map(({ reported }) => (reported['AGENTFLEET_ADAPTER'] ?? '').split('=')[0]);
    expect(new Set(names).size).toBe(2);
  });

  test('belongs to the engine of its own revision when that is another one', () => {
    const all = servers([core, adapter('py-1')], [{ ...core, artifact: { uri: 'pvc://models/core-2' } }, adapter('py-1')]);
    const engines = named(all, 'core');
    const adapters = named(all, 'py');
    expect([engines.length, adapters.length]).toEqual([2, 2]);
    expect(new Set(adapters.map(({ reported }) => reported['AGENTFLEET_UPSTREAM']))).toEqual(
      new Set(engines.map(({ name }) => `http://${name}.platform.svc:8000`)),
    );
  });
});

describe('an engine with adapters', () => {
  const hash = (experts: readonly Part[]): string => {
    const arm = desiredArm(asked(experts));
    const base = arm.experts.find(({ name }) => name === 'core');
    return base === undefined ? '' : serverHash(arm, base);
  };

  test('is the same whatever its adapters are, and another one with other room for them', () => {
    const before = hash([core, adapter('py-1')]);
    expect(hash([core, adapter('py-2', { domains: ['notebooks'] })])).toBe(before);
    expect(hash([core, adapter('py-1'), adapter('js', { name: 'js' })])).not.toBe(before);
    expect(hash([core, adapter('py-1', { engine: { type: 'Adapter', adapter: { base: 'core', rank: 64 } } })])).not.toBe(before);
    // Another claim is another mount.
    expect(hash([core, adapter('py-1', { artifact: { uri: 'pvc://others/py' } })])).not.toBe(before);
    expect(hash([core])).not.toBe(before);
  });

  test('reserves for revisions only where there may be some', () => {
    const experts = [core, adapter('py-1'), adapter('js', { name: 'js' })];
    expect(adapterRoom(poolOf(experts), 'core')).toEqual({ count: 4, maxRank: 32 });
    expect(adapterRoom(newPool({ experts }), 'core')).toEqual({ count: 2, maxRank: 32 });
    expect(adapterRoom(newPool({ experts: [core] }), 'core')).toBeUndefined();
  });
});
