import type { Static } from 'typebox';
import { counter, struct } from '../schema/index.ts';

/** What was used; replaced as a whole. */
export function usageFields(description: string) {
  return struct(
    description,
    {
      tokensIn: counter('Tokens read by models; 0 while no engine reports them to workers.'),
      tokensOut: counter('Tokens written by models; 0 while no engine reports them to workers.'),
      toolCalls: counter('Commands and edits.'),
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
