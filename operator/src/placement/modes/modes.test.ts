import { describe, expect, test } from 'vitest';
import { bindingOf, chooseMode, modes, podPlacementOf, renderSlotClaim, slotClaimName, withoutGpu, type ModeFacts } from './index.ts';

const facts: ModeFacts = {
  resourceApi: true,
  deviceClass: true,
  conflicts: [],
  slots: [
    { name: 'dgx-1/gpu0', node: 'dgx-1', published: true, pods: 1 },
    { name: 'dgx-1/gpu1', node: 'dgx-1', published: true, pods: 1 },
  ],
  pluginGpus: new Map(),
  runtimeClass: true,
  injection: 'Works',
};
const unpublished = facts.slots.map((slot) => ({ ...slot, published: false }));
const plugin: ModeFacts = { ...facts, slots: unpublished, pluginGpus: new Map([['dgx-1', 4]]) };

describe('the mode', () => {
  test('is the first whose requirements hold, with a reason for each that was skipped', () => {
    expect(chooseMode('Auto', facts)).toEqual({ mode: 'DRA', skipped: [] });
    const reserved = chooseMode('Auto', plugin);
    expect(reserved.mode).toBe('Reservation');
    expect(reserved.skipped[0]?.reason).toMatch(/no ResourceSlice has the GPU of dgx-1\/gpu0, dgx-1\/gpu1: install the DRA driver/);
    expect(chooseMode('Auto', { ...plugin, injection: 'Refused' }).mode).toBe('WholeGPU');
    const shared = unpublished.map((slot) => ({ ...slot, pods: 2 }));
    expect(chooseMode('Auto', { ...plugin, injection: 'Refused', slots: shared }).skipped.at(-1)?.reason).toContain('several pods');
  });

  test('waits for the probe where only that is missing, and takes no other one for good', () => {
    const waiting = chooseMode('Auto', { ...plugin, injection: undefined });
    expect(waiting).toMatchObject({ mode: undefined, asks: true });
    expect(waiting.skipped.map(({ mode }) => mode)).toEqual(['DRA', 'Reservation']);
    expect(chooseMode('Reservation', { ...plugin, injection: undefined })).toMatchObject({ mode: undefined, asks: true });
    // Nobody is asked what would not matter.
    expect(chooseMode('Auto', { ...plugin, injection: undefined, runtimeClass: false })).toMatchObject({ mode: 'WholeGPU' });
    expect(chooseMode('Auto', { ...plugin, injection: 'Silent' })).toMatchObject({ mode: 'WholeGPU' });
  });

  test('is none when no requirement holds; then each reports what it lacks', () => {
    const bare = { ...plugin, pluginGpus: new Map() };
    const choice = chooseMode('Auto', bare);
    expect(choice.mode).toBeUndefined();
    expect(choice.skipped.map(({ mode }) => mode)).toEqual([...modes]);
    expect(choice.skipped.at(-1)?.reason).toContain('offers 0 GPUs by the device plugin');
  });

  test('that the user names is taken or refused, never exchanged', () => {
    expect(chooseMode('WholeGPU', facts)).toMatchObject({ mode: undefined, skipped: [{ mode: 'WholeGPU' }] });
  });

  test('two stacks on one node keep it from every one', () => {
    const choice = chooseMode('Auto', { ...facts, conflicts: ['node dgx-1: both'] });
    expect(choice.mode).toBeUndefined();
    expect(choice.skipped.every(({ reason }) => reason === 'node dgx-1: both')).toBe(true);
  });

  test.each([
    ['an old API server', 'DRA', { resourceApi: false }, /1\.34 or newer/],
    ['no DeviceClass', 'DRA', { deviceClass: false }, /DeviceClass/],
    ['a probe that has not answered', 'Reservation', { ...plugin, injection: undefined }, /probe pod has not answered/],
    ['a probe that never got on', 'Reservation', { ...plugin, injection: 'Silent' }, /did not get on/],
    ['a plugin that shares GPUs', 'Reservation', { ...plugin, sharing: ['dgx-1'] }, /turn off time-slicing/],
    ['no RuntimeClass', 'Reservation', { ...plugin, runtimeClass: false }, /RuntimeClass nvidia/],
    ['too few GPUs', 'WholeGPU', { ...plugin, pluginGpus: new Map([['dgx-1', 1]]) }, /offers 1 GPUs by the device plugin and 2 are needed/],
  ] as const)('is refused for %s', (_why, mode, more, message) => {
    const choice = chooseMode(mode, { ...facts, ...more });
    expect(choice.mode).toBeUndefined();
    expect(choice.skipped[0]?.reason).toMatch(message);
  });
});

describe('a slot as a claim', () => {
  const binding = { slot: 'dgx-1/gpu3', uuid: 'GPU-3d', pciBusID: '0000:07:00.0' };
  const options = { namespace: 'fleet', deviceClass: 'gpu.nvidia.com', driver: 'gpu.nvidia.com' };

  test('pins the GPU by uuid, guarded against devices without one', () => {
    expect(renderSlotClaim(binding, options)).toMatchObject({
      metadata: { name: 'slot-dgx-1-gpu3', namespace: 'fleet' },
      spec: {
        devices: {
          requests: [
            {
              name: 'gpu',
              exactly: {
                deviceClassName: 'gpu.nvidia.com',
                count: 1,
                selectors: [
                  {
                    cel: {
                      expression: "'uuid' in device.attributes['gpu.nvidia.com'] && device.attributes['gpu.nvidia.com'].uuid == 'GPU-3d'",
                    },
                  },
                ],
              },
            },
          ],
        },
      },
    });
  });

  test('records what its name was bound to', () => {
    expect(bindingOf(renderSlotClaim(binding, options))).toEqual(binding);
    expect(bindingOf({ metadata: { name: 'other', namespace: 'fleet', labels: {}, annotations: {} } })).toBeUndefined();
  });

  test('takes no text that would change its expression, and a long name becomes a hash', () => {
    expect(() => renderSlotClaim({ ...binding, uuid: "x' || true || '" }, options)).toThrow(/cannot be part of a device selector/);
    const [a, b] = ['a', 'b'].map((end) => slotClaimName(`${'n'.repeat(200)}${end}/gpu0`));
    expect(a).toMatch(/^slot-[0-9a-f]{20}-gpu0$/);
    expect(a).not.toBe(b);
  });
});

describe('a pod on its slots', () => {
  const slot = { name: 'dgx-1/gpu3', node: 'dgx-1', uuid: 'GPU-3d' };
  const draft = { name: 'dgx-1/gpu2', node: 'dgx-1', uuid: 'GPU-2c' };

  test('names the claims of its slots, and nothing else', () => {
    const placement = podPlacementOf('DRA', [slot, draft]);
    expect(placement).toEqual({
      resourceClaims: [
        { name: 'gpu', resourceClaimName: 'slot-dgx-1-gpu3' },
        { name: 'gpu1', resourceClaimName: 'slot-dgx-1-gpu2' },
      ],
      claims: [
        { name: 'gpu', request: 'gpu' },
        { name: 'gpu1', request: 'gpu' },
      ],
      limits: {},
      env: [{ name: 'CUDA_DEVICE_ORDER', value: 'PCI_BUS_ID' }],
      runtimeClassName: undefined,
      nodeSelector: {},
    });
  });

  test('asks the device plugin for whole GPUs, and names none', () => {
    const placement = podPlacementOf('WholeGPU', [slot, draft]);
    expect(placement).toMatchObject({
      limits: { 'nvidia.com/gpu': '2' },
      resourceClaims: [],
      nodeSelector: { 'kubernetes.io/hostname': 'dgx-1' },
    });
    expect(placement.env.map(({ name }) => name)).not.toContain('NVIDIA_VISIBLE_DEVICES');
  });

  test('sees the GPUs of its environment where another pod holds them', () => {
    const placement = podPlacementOf('Reservation', [slot]);
    expect(placement).toMatchObject({ limits: {}, resourceClaims: [], runtimeClassName: 'nvidia' });
    expect(placement.env).toContainEqual({ name: 'NVIDIA_VISIBLE_DEVICES', value: 'GPU-3d' });
    expect(() => podPlacementOf('Reservation', [{ ...slot, uuid: undefined }])).toThrow(/not known yet/);
  });

  test('by rules that hold in every mode', () => {
    for (const mode of modes) {
      const { env, limits, claims, resourceClaims, runtimeClassName } = podPlacementOf(mode, [slot, draft]);
      const visible = env.find(({ name }) => name === 'NVIDIA_VISIBLE_DEVICES')?.value;
      expect(env[0], mode).toEqual({ name: 'CUDA_DEVICE_ORDER', value: 'PCI_BUS_ID' });
      // Never an extended resource with a claim, and never a visible device beside an injected one.
      const ways = [claims.length > 0, limits['nvidia.com/gpu'] !== undefined, visible !== undefined];
      expect(ways.filter(Boolean), mode).toHaveLength(1);
      expect(resourceClaims.length > 0, mode).toBe(mode === 'DRA');
      expect(runtimeClassName === 'nvidia', mode).toBe(mode === 'Reservation');
      expect(visible === undefined || visible === 'GPU-3d,GPU-2c', mode).toBe(true);
    }
    // It asks for nothing by which admission would let it onto a node with this taint.
    expect(podPlacementOf('Reservation', [slot]).tolerations).toEqual([{ key: 'nvidia.com/gpu', operator: 'Exists' }]);
  });

  test('without a slot sees no GPU at all', () => {
    for (const mode of modes) expect(podPlacementOf(mode, [])).toEqual(withoutGpu);
    expect(withoutGpu.env).toEqual([{ name: 'NVIDIA_VISIBLE_DEVICES', value: 'void' }]);
  });
});
