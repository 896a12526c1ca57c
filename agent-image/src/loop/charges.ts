import { toMicros, type Usage } from '@agentfleet/protocol/api';
import type { SpentTokens } from '../attempt/meter.ts';
import type { Scope } from '../attempt/scope.ts';
import type { Charge } from './notes.ts';
import { TranscriptReader, type Transcript } from './transcript.ts';

/** Reads the conversation that an attempt goes on with, with what earlier attempts spent and did not report. */
export async function readTranscript({ context, session }: Pick<Scope, 'context' | 'session'>): Promise<Transcript> {
  const reader = new TranscriptReader();
  await session.events(reader.visit);
  const transcript = reader.of(context.assignment.attempt);
  const owed = owedOf(reader.before, context.used.earlier);
  if (owed !== null) transcript.owe(owed);
  return transcript;
}

/**
 * Returns the amounts that earlier attempts spent by the log and their workers did not report, because they were lost; null: none.
 * An attempt that comes later is charged for them. Pure.
 *
 * @param charges of all earlier attempts; a request whose reply was not seen as it was reserved
 * @param reported what they reported together
 */
export function owedOf(charges: readonly Charge[], { tokensIn, tokensOut, tokensCached = 0, cost }: Usage): Charge | null {
  const sum = spentBy(charges);
  const input = Math.max(0, sum.input - tokensIn);
  const output = Math.max(0, sum.output - tokensOut);
  const costMicros = sum.cost === null ? null : Math.max(0, sum.cost - Number(toMicros(cost ?? '0')));
  if (input === 0 && output === 0 && (costMicros ?? 0) === 0) return null;
  const cachedInput = Math.min(input, Math.max(0, sum.cachedInput - tokensCached));
  return { usage: { input, cachedInput, output, estimated: charges.some(({ usage }) => usage.estimated) }, costMicros };
}

/** These charges as one. Pure. */
export function together(charges: readonly Charge[]): Charge {
  const { cost, ...usage } = spentBy(charges);
  return { usage: { ...usage, estimated: charges.some((charge) => charge.usage.estimated) }, costMicros: cost };
}

/** Returns the sum of these charges, for the meter. */
export function spentBy(charges: readonly Charge[]): SpentTokens {
  const sum = (of: (charge: Charge) => number): number => charges.reduce((total, charge) => total + of(charge), 0);
  const priced = charges.filter(({ costMicros }) => costMicros !== null);
  return {
    input: sum(({ usage }) => usage.input),
    cachedInput: sum(({ usage }) => usage.cachedInput),
    output: sum(({ usage }) => usage.output),
    cost: priced.length === 0 ? null : sum(({ costMicros }) => costMicros ?? 0),
  };
}
