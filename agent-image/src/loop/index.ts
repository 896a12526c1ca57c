/**
 * The strategy of chat models: a conversation in which each reply is a step, and each call of a tool passes the gates. Start
 * with `loop.ts`; `transcript.ts` is its state, `act.ts` one call, the rest is pure.
 *
 * May import `attempt`, `tools`, `models`, `rails`, `checks`, `base`, `protocol`, `kube` and the keeper's client; `attempt` and `tools` do not
 * import it.
 */
import type { LoopStrategy } from '../attempt/scope.ts';
import { runLoop } from './loop.ts';
import { TranscriptReader } from './transcript.ts';

export { waitingForModel } from './notes.ts';

export const loopStrategy: LoopStrategy = {
  reader: () => {
    const reader = new TranscriptReader();
    return { visit: reader.visit, isOpen: (attempt) => reader.of(attempt).began !== null };
  },
  run: runLoop,
};
