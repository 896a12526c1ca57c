import type { HarnessBrief } from '@agentfleet/protocol/pool';
import type { AttemptContext, Outcome } from './ports.ts';
import type { HarnessAt, Scope, StrategyScope } from './scope.ts';

/** The agent program of the pool, which runs its attempts; null: it has none. */
export function harnessOf({ pool }: Pick<AttemptContext, 'pool'>): HarnessBrief | null {
  return pool.experts.find(({ harness }) => harness !== undefined)?.harness ?? null;
}

/** Whether the pool has a chat model that works on goals of every kind by itself. */
export function hasChat({ pool }: Pick<AttemptContext, 'pool'>): boolean {
  return harnessOf({ pool }) === null && pool.experts.some(({ chat, role }) => chat !== undefined && role === 'Generalist');
}

/** How a pool works on goals of every kind. */
export interface OpenStrategy {
  /** What is said while it works. */
  readonly working: string;
  readonly run: (at: Omit<StrategyScope, 'models'>) => Promise<Outcome>;
}

/** The agent program, or the loop of a chat model; null: candidates are searched. */
export function openStrategy({ context, options }: Pick<Scope, 'context' | 'options'>): OpenStrategy | null {
  const { models } = context;
  const { loop, runHarness } = options;
  const harness = harnessOf(context);
  if (harness !== null && runHarness !== undefined) {
    const at = { harness, ...(models !== undefined && { models }) } satisfies Partial<HarnessAt>;
    return { working: 'running the agent program', run: (rest) => runHarness({ ...rest, ...at }) };
  }
  if (loop === undefined || models === undefined || !hasChat(context)) return null;
  return { working: 'working with the model', run: (rest) => loop.run({ ...rest, models }) };
}
