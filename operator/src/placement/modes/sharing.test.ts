import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { renderSlotClaim, sharingInName, sharingSuffix, sharingText, slotClaimName, timeSlices, type Sharing } from './index.ts';

const sharings: fc.Arbitrary<Sharing | undefined> = fc.oneof(
  fc.constant(undefined),
  fc.record({
    strategy: fc.constant('MPS' as const),
    percentage: fc.integer({ min: 1, max: 100 }),
    limitMiB: fc.option(fc.integer({ min: 1, max: 999_999_999 }), { nil: undefined }),
  }),
  fc.record({ strategy: fc.constant('TimeSlicing' as const), interval: fc.constantFrom(...timeSlices) }),
);
const slots = fc.constantFrom('dgx-1/gpu0', 'n-mps-40/gpu3-2g.10gb-0', 'x.timeslicing-long/gpu12', `${'n'.repeat(200)}/gpu3-1g.5gb-me-7`);

describe('how a slot is shared', () => {
  test('is encoded by the name of its claim, and by nothing else in it', () => {
    fc.assert(
      fc.property(slots, fc.stringMatching(/^[0-9a-f]{10}$/), sharings, (slot, hash, sharing) => {
        const name = `${slotClaimName(slot)}-${hash}${sharingSuffix(sharing)}`;
        expect(sharingInName(name)).toEqual(sharing);
        // What the API server takes as the name of an object.
        expect(name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
        expect(slotClaimName(slot)).toMatch(/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/);
        expect(name.length).toBeLessThanOrEqual(253);
      }),
    );
  });

  test('is read by people as they write it', () => {
    expect(sharingText({ strategy: 'MPS', percentage: 40, limitMiB: 8192 })).toBe('MPS 40 8192Mi');
    expect(sharingText({ strategy: 'MPS', percentage: 100, limitMiB: undefined })).toBe('MPS 100');
    expect(sharingText({ strategy: 'TimeSlicing', interval: 'Default' })).toBe('TimeSlicing Default');
  });
});

describe('the claim of a MIG slice', () => {
  const binding = { slot: 'dgx-1/gpu3-1g.5gb-me-0', uuid: 'MIG-3d', pciBusID: '0000:07:00.0@4' };
  const options = { namespace: 'fleet', deviceClass: 'mig.nvidia.com', driver: 'gpu.nvidia.com' };

  test('pins its size beside its uuid, each guarded against devices without', () => {
    const text = JSON.stringify(renderSlotClaim(binding, { ...options, profile: '1g.5gb+me' }).spec);
    const attributes = "device.attributes['gpu.nvidia.com']";
    expect(text).toContain(
      `'uuid' in ${attributes} && ${attributes}.uuid == 'MIG-3d' && 'profile' in ${attributes} && ${attributes}.profile == '1g.5gb+me'`,
    );
    expect(() => renderSlotClaim(binding, { ...options, profile: "x' || 'a' == 'a" })).toThrow(/cannot be part of a device selector/);
  });
});
