import { createHash } from 'node:crypto';
import { canonical } from '@agentfleet/kube';
import type { PlanStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import { modes } from '../placement/index.ts';
import { podWith } from '../runtime/settings.ts';
import { seatDeployment, seatOf, wasSeated, type PlannedStatus } from './seat.ts';
import { serverDeployment } from './server.ts';

const spec = serverDeployment({
  labels: { app: 'gen' },
  image: 'inference:1',
  replicas: 1,
  environment: { AGENTFLEET_ENGINE: 'Synth' },
  resources: undefined,
  fallback: { limits: { memory: '1Gi' } },
});

const status = (mode: PlanStatus['mode'], more: object = {}): PlannedStatus => ({
  plan: {
    ...(mode === undefined ? {} : { mode }),
    assignments: [{ item: 'gen', slot: 'dgx-1/gpu0', uuid: 'GPU-7a', bytes: 1, admitted: true, ...more }],
  },
});

interface Rendered {
  readonly replicas: number;
  readonly strategy: unknown;
  readonly template: {
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
    readonly spec: {
      readonly resourceClaims?: unknown;
      readonly runtimeClassName?: string;
      readonly nodeSelector?: unknown;
      readonly containers: readonly { readonly env: readonly unknown[]; readonly resources: Readonly<Record<string, unknown>> }[];
    };
  };
}

const placed = (planned: PlannedStatus): Rendered => seatDeployment(spec, seatOf(true, planned, 'gen')) as Rendered;
/** As it is written where the administrator sets nothing. */
function templateHash({ template }: Rendered): string {
  const written = { ...template, spec: podWith(template.spec as never, {}) };
  return createHash('sha256').update(canonical(written)).digest('hex').slice(0, 16);
}

describe('a pod gets at its GPU', () => {
  test('by the claim that its plan names, and by nothing else', () => {
    const { replicas, strategy, template } = placed(status('DRA', { claim: 'slot-dgx-1-gpu0-0123456789' }));
    expect(replicas).toBe(1);
    // There is no memory for two of them.
    expect(strategy).toEqual({ type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } });
    expect(template.metadata.annotations).toEqual({ 'agentfleet.dev/slot': 'dgx-1/gpu0', 'agentfleet.dev/gpu-uuid': 'GPU-7a' });
    expect(template.spec.resourceClaims).toEqual([{ name: 'gpu', resourceClaimName: 'slot-dgx-1-gpu0-0123456789' }]);
    expect(template.spec.nodeSelector).toBeUndefined();
    const [container] = template.spec.containers;
    expect(container?.resources).toEqual({ limits: { memory: '1Gi' }, claims: [{ name: 'gpu', request: 'gpu' }] });
    expect(container?.env).toEqual([
      { name: 'AGENTFLEET_ENGINE', value: 'Synth' },
      { name: 'CUDA_DEVICE_ORDER', value: 'PCI_BUS_ID' },
    ]);
  });

  test('as a whole GPU of the device plugin on its node', () => {
    const whole = placed(status('WholeGPU')).template.spec;
    expect(whole.containers[0]?.resources).toEqual({ limits: { memory: '1Gi', 'nvidia.com/gpu': '1' } });
    expect(whole).toMatchObject({ nodeSelector: { 'kubernetes.io/hostname': 'dgx-1' } });
    expect(whole.resourceClaims).toBeUndefined();
  });

  test('by the environment that names the board which another pod holds', () => {
    const { template, replicas } = placed(status('Reservation', { holder: 'pod-1' }));
    expect(replicas).toBe(1);
    expect(template.spec).toMatchObject({
      runtimeClassName: 'nvidia',
      nodeSelector: { 'kubernetes.io/hostname': 'dgx-1' },
      tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists' }],
    });
    expect(template.spec.containers[0]?.env).toContainEqual({ name: 'NVIDIA_VISIBLE_DEVICES', value: 'GPU-7a' });
    expect(template.spec.containers[0]?.resources).toEqual({ limits: { memory: '1Gi' } });
    expect(template.metadata.annotations).toMatchObject({ 'agentfleet.dev/gpu-holder': 'pod-1', 'agentfleet.dev/gpu-uuid': 'GPU-7a' });
    // Held by another pod now: the GPU may have been another tenant's.
    expect(templateHash(placed(status('Reservation', { holder: 'pod-2' })))).not.toBe(
      templateHash(placed(status('Reservation', { holder: 'pod-1' }))),
    );
  });

  test('and gives up the one that it had while the next one is not held yet', () => {
    const seat = seatOf(true, status('Reservation', { uuid: undefined }), 'gen');
    expect(seat).toMatchObject({ kind: 'Unseated', moves: true });
    expect(seatDeployment(spec, seat)).toMatchObject({ replicas: 0 });
  });

  test('and what runs beside the engine gets none', () => {
    const template = {
      metadata: {},
      spec: { initContainers: [{ name: 'weights' }, { name: 'engine', env: [] }], containers: [{ name: 'inference' }] },
    };
    const two = { replicas: 1, template };
    for (const mode of modes) {
      const seated = seatDeployment(two, seatOf(true, status(mode), 'gen')) as typeof two;
      const all = [...seated.template.spec.initContainers, ...seated.template.spec.containers] as readonly {
        readonly name: string;
        readonly env?: readonly { readonly name: string; readonly value: string }[];
        readonly resources?: unknown;
      }[];
      const byEnvironment = mode === 'Reservation';
      for (const { name, env = [], resources } of all) {
        const visible = env.filter((variable) => variable.name === 'NVIDIA_VISIBLE_DEVICES').map(({ value }) => value);
        const own = name === 'engine';
        expect(visible, `${mode} ${name}`).toEqual(byEnvironment ? [own ? 'GPU-7a' : 'void'] : []);
        expect(resources === undefined, `${mode} ${name}`).toBe(!own);
      }
    }
  });

  test('when its turn has come; waiting changes nothing of the template', () => {
    const waits = placed(status('DRA', { claim: 'c', admitted: false }));
    expect(waits.replicas).toBe(0);
    expect(templateHash(waits)).toBe(templateHash(placed(status('DRA', { claim: 'c' }))));
  });

  test('and has no pods without a place', () => {
    const conditions = [
      { type: 'PlacementFeasible', status: 'False', reason: 'UnknownSlot', message: 'no', lastTransitionTime: '' },
    ] as const;
    const seat = seatOf(true, { conditions: [...conditions] }, 'gen');
    expect(seat).toMatchObject({ kind: 'Unseated', reason: 'UnknownSlot' });
    expect(seatOf(true, undefined, 'gen')).toMatchObject({ kind: 'Unseated', reason: undefined });
    const rendered = seatDeployment(spec, seat) as Rendered;
    expect(rendered.replicas).toBe(0);
    expect(wasSeated(rendered.template)).toBe(false);
    expect(seatDeployment(spec, seatOf(false, undefined, 'gen'))).toBe(spec);
  });

  test('from a template that only a change made on purpose changes: another one restarts all engines', () => {
    expect(templateHash(placed(status('DRA', { claim: 'slot-dgx-1-gpu0-0123456789' })))).toMatchInlineSnapshot(`"a8166ca665909738"`);
    const others = ['Reservation', 'WholeGPU'] as const;
    const hashes = others.map((mode) => `${mode} ${templateHash(placed(status(mode, mode === 'Reservation' ? { holder: 'pod-1' } : {})))}`);
    expect(hashes).toMatchInlineSnapshot(`
      [
        "Reservation e150427e36bbbbad",
        "WholeGPU 33ad698526c34f59",
      ]
    `);
  });
});
