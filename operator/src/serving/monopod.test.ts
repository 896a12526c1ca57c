import { createHash } from 'node:crypto';
import { canonical } from '@agentfleet/kube';
import { describe, expect, test } from 'vitest';
import { sumAmounts } from './amounts.ts';
import {
  engineService,
  enginePlaces,
  enginePortName,
  enginesIn,
  heardAtEngines,
  monopodDeployment,
  type Monopod,
  type MonopodEngine,
} from './monopod.ts';
import { serverWall } from './server.ts';

const engine = (name: string, slot: string, more: Partial<MonopodEngine> = {}): MonopodEngine => ({
  name,
  slot,
  environment: { AGENTFLEET_ENGINE: 'Synth' },
  resources: undefined,
  fallback: { requests: { cpu: '50m', memory: '1Mi' }, limits: { memory: '1Gi' } },
  ...more,
});

const pod: Monopod = {
  labels: { app: 'fleet' },
  image: 'inference:1',
  replicas: 1,
  node: 'dgx-1',
  engines: [engine('gen', 'dgx-1/gpu10'), engine('py', 'dgx-1/gpu2'), engine('js', 'dgx-1/gpu2')],
};

interface Rendered {
  readonly replicas: number;
  readonly strategy: unknown;
  readonly template: {
    readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
    readonly spec: {
      readonly nodeSelector: unknown;
      readonly volumes?: unknown;
      readonly runtimeClassName?: unknown;
      readonly resourceClaims?: unknown;
      readonly containers: readonly {
        readonly args: unknown;
        readonly env: readonly { readonly name: string; readonly value: string }[];
        readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
        readonly resources: unknown;
        readonly volumeMounts?: unknown;
        readonly readinessProbe: unknown;
        readonly livenessProbe: unknown;
      }[];
    };
  };
}

const render = (more: Partial<Monopod> = {}): Rendered => monopodDeployment({ ...pod, ...more }) as Rendered;
const envOf = ({ template }: Rendered): Readonly<Record<string, string>> =>
  Object.fromEntries(template.spec.containers[0]?.env.map(({ name, value }) => [name, value]) ?? []);
const templateHash = ({ template }: Rendered): string => createHash('sha256').update(canonical(template)).digest('hex').slice(0, 16);

describe('one pod with several engines', () => {
  test('is one container that has the GPUs of all slots, on their node, and nothing else that gives one', () => {
    const rendered = render();
    expect([rendered.replicas, rendered.strategy]).toEqual([1, { type: 'Recreate' }]);
    const { containers, nodeSelector, runtimeClassName, resourceClaims } = rendered.template.spec;
    expect(containers).toHaveLength(1);
    expect([nodeSelector, runtimeClassName, resourceClaims]).toEqual([{ 'kubernetes.io/hostname': 'dgx-1' }, undefined, undefined]);
    expect(containers[0]?.args).toEqual(['supervise']);
    expect(containers[0]?.resources).toEqual({
      requests: { cpu: '150m', memory: String(3 * 2 ** 20) },
      limits: { memory: String(3 * 2 ** 30), 'nvidia.com/gpu': '2' },
    });
    expect(Object.keys(envOf(rendered))).toEqual(['AGENTFLEET_SUPERVISE', 'CUDA_DEVICE_ORDER']);
    expect(envOf(rendered)['CUDA_DEVICE_ORDER']).toBe('PCI_BUS_ID');
    expect(containers[0]).toMatchObject({
      readinessProbe: { httpGet: { path: '/readyz', port: 'http' } },
      livenessProbe: { httpGet: { path: '/livez', port: 'http' } },
    });
  });

  test('tells the supervisor who sees which of them, in the order of their slots', () => {
    expect(JSON.parse(envOf(render())['AGENTFLEET_SUPERVISE'] ?? '')).toEqual([
      { name: 'gen', port: 7081, environment: { AGENTFLEET_ENGINE: 'Synth' }, gpus: [1] },
      { name: 'py', port: 7083, environment: { AGENTFLEET_ENGINE: 'Synth' }, gpus: [0] },
      { name: 'js', port: 7082, environment: { AGENTFLEET_ENGINE: 'Synth' }, gpus: [0] },
    ]);
  });

  test('says who is in it, and opens a port of its own for each', () => {
    const { template } = render();
    expect([...enginesIn(template)]).toEqual([
      ['gen', { slot: 'dgx-1/gpu10', port: 7081 }],
      ['js', { slot: 'dgx-1/gpu2', port: 7082 }],
      ['py', { slot: 'dgx-1/gpu2', port: 7083 }],
    ]);
    expect(enginesIn({ metadata: { annotations: { 'agentfleet.dev/slot': 'dgx-1/gpu0' } } }).size).toBe(0);
    const ports = new Map(template.spec.containers[0]?.ports.map(({ name, containerPort }) => [name, containerPort]));
    expect(ports).toEqual(
      new Map([['http', 7080], ...[...enginesIn(template)].map(([name, { port }]) => [enginePortName(name), port] as const)]),
    );
    for (const name of ports.keys()) expect(name).toMatch(/^[a-z0-9-]{1,15}$/);
  });

  test('has the folders of each under names of their own', () => {
    const mounted = { volume: { name: 'replay', configMap: { name: 'tape' } }, path: '/etc/replay/gen' };
    const { template } = render({ engines: [engine('gen', 'dgx-1/gpu0', { mounted }), engine('js', 'dgx-1/gpu0')] });
    expect(template.spec.volumes).toEqual([{ name: 'replay-7081', configMap: { name: 'tape' } }]);
    expect(template.spec.containers[0]?.volumeMounts).toEqual([{ name: 'replay-7081', mountPath: '/etc/replay/gen', readOnly: true }]);
    expect(render().template.spec.volumes).toBeUndefined();
  });

  test('has a template that only a change made on purpose changes: another one restarts all engines', () => {
    expect(templateHash(render())).toMatchInlineSnapshot(`"f06e7155d234ebb0"`);
    expect(templateHash(render({ replicas: 0 }))).toBe(templateHash(render()));
  });

  test('is heard at the ports of its engines, which Services name', () => {
    expect(engineService({ app: 'fleet' }, 'gen')).toEqual({
      type: 'ClusterIP',
      selector: { app: 'fleet' },
      ports: [{ name: 'http', port: 7080, protocol: 'TCP', targetPort: enginePortName('gen') }],
      publishNotReadyAddresses: true,
    });
    const wall = serverWall({ app: 'fleet' }, { app: 'worker' }, 'system');
    const [rule] = heardAtEngines(wall, enginePlaces(pod.engines)).ingress as readonly { readonly ports: readonly { port: number }[] }[];
    expect(rule?.ports.map(({ port }) => port)).toEqual([7080, 7081, 7082, 7083]);
    expect(heardAtEngines(wall, new Map())).toBe(wall);
  });
});

describe('the amounts of several servers', () => {
  const fallback = { requests: { memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } };
  const amounts = (limits: Record<string, string>) => ({ resources: { limits }, fallback });

  test('are added up, and without a limit of one there is none of all', () => {
    expect(sumAmounts([{ resources: undefined, fallback }, amounts({ cpu: '500m', memory: '512Mi' })])).toEqual({
      requests: { memory: String(2 ** 30) },
      limits: { cpu: '1500m', memory: String(1.5 * 2 ** 30) },
    });
    expect(sumAmounts([{ resources: undefined, fallback }, amounts({ memory: '512Mi' })]).limits).toEqual({
      memory: String(1.5 * 2 ** 30),
    });
  });

  test('have no GPUs: these are the plan’s', () => {
    expect(sumAmounts([amounts({ memory: '1Gi', 'nvidia.com/gpu': '4' })]).limits).toEqual({ memory: String(2 ** 30) });
  });
});
