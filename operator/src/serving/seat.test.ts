import { createHash } from 'node:crypto';
import { canonical } from '@agentfleet/kube';
import type { PlanStatus } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
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
    hash: '0123456789abcdef',
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
const templateHash = (rendered: Rendered): string => createHash('sha256').update(canonical(rendered.template)).digest('hex').slice(0, 16);

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

  test('as a whole GPU of the device plugin on its node, or by its environment', () => {
    const whole = placed(status('WholeGPU')).template.spec;
    expect(whole.containers[0]?.resources).toEqual({ limits: { memory: '1Gi', 'nvidia.com/gpu': '1' } });
    expect(whole).toMatchObject({ nodeSelector: { 'kubernetes.io/hostname': 'dgx-1' } });
    expect(whole.resourceClaims).toBeUndefined();
    const env = placed(status('Env')).template.spec;
    expect(env).toMatchObject({ runtimeClassName: 'nvidia', nodeSelector: { 'kubernetes.io/hostname': 'dgx-1' } });
    expect(env.containers[0]?.env).toContainEqual({ name: 'NVIDIA_VISIBLE_DEVICES', value: 'GPU-7a' });
    expect(env.containers[0]?.resources).toEqual({ limits: { memory: '1Gi' } });
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
  });
});
