import type { Node } from './fields.ts';

/** A GPU of an engine, with every field. */
export const gpu: Node = { slot: 'dgx-1/gpu0', memory: { budget: 'Auto', kvTokens: 8192, headroom: '0.1' } };

/** A plan with every field. */
export const fullPlan: Node = {
  hash: '0123456789abcdef',
  mode: 'DRA',
  assignments: [
    { item: 'gen', slot: 'dgx-1/gpu0', uuid: 'GPU-7a', bytes: 36_507_222_016, claim: 'slot-dgx-1-gpu0-0123456789', admitted: true },
  ],
  rejected: [{ item: 'py', slot: 'dgx-1/gpu1', reason: 'NotEnoughMemory', shortByBytes: 15_032_385_536 }],
  skippedModes: [{ mode: 'Reservation', reason: 'node dgx-1 offers 0 GPUs by the device plugin and 1 are needed' }],
};
