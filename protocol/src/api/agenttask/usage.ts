import type { Static } from 'typebox';
import { counter, money, optional, struct } from '../schema/index.ts';

const spent = {
  tokensIn: counter('Tokens that chat models read; other engines report none.'),
  tokensOut: counter('Tokens that chat models wrote; other engines report none.'),
  cost: optional(money('Cost by the prices of the pool, in its currency; absent: nothing with a price was used.')),
  toolCalls: counter('Commands and edits.'),
};

/** Returns the schema of what budgets and caps count; replaced as a whole. */
export function spentFields(description: string) {
  return struct(description, spent, { atomic: true });
}

/** Returns the schema of what was used; replaced as a whole. */
export function usageFields(description: string) {
  return struct(
    description,
    {
      ...spent,
      tokensCached: optional(counter('Of tokensIn, those that a provider read from a cache.')),
      cpuMillis: counter('Processor time of commands, in milliseconds.'),
      wallSeconds: counter('Seconds in which the task ran.'),
      candidates: counter('Proposals that were judged.'),
      vetoes: counter('Proposals that a gate refused.'),
      backtracks: counter('Restores of an earlier snapshot.'),
    },
    { atomic: true },
  );
}

export const Usage = usageFields('What was used.');
export type Usage = Static<typeof Usage>;
