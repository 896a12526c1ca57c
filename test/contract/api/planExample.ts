// test, contract/api: full example of a GPU plan. May import any package.
import type { Node } from './fields.ts';

/** A GPU of an engine, with every field. */
export const gpu: Node = { slot: 'dgx-1/gpu0', memory: { budget: 'Auto', kvTokens: 8192 } };

/** A plan with every field. */
export const fullPlan: Node = {
  mode: 'DRA',
  assignments: [
    {
      item: 'gen',
      slot: 'dgx-1/gpu0',
      uuid: 'GPU-7a',
      bytes: 36_507_222_016,
      slotBytes: 39_015_000_000,
      claim: 'slot-dgx-1-gpu0-0123456789',
      holder: '5e1f0a52-6a43-4a52-9d0e-2f6b6c1d7a10',
      admitted: true,
    },
  ],
  rejected: [{ item: 'py', slot: 'dgx-1/gpu1-2g.10gb-0', reason: 'NotEnoughMemory', shortByBytes: 15_032_385_536 }],
};
