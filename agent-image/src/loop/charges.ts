import type { Usage } from '@agentfleet/protocol/api';
import { tokensOf, type SpentTokens } from '../attempt/meter.ts';
import type { Scope } from '../attempt/scope.ts';
import type { Charge } from './notes.ts';
import { TranscriptReader, type Transcript } from './transcript.ts';

/**
 * Reads the conversation that an attempt goes on with, with what earlier attempts spent and did not report, and what this one reported
 * and the log does not have: it was lost, or written anew in the tenant's reach, and what was spent never gets less.
 */
export async function readTranscript({ context, session, meter }: Pick<Scope, 'context' | 'session' | 'meter'>): Promise<Transcript> {
  const reader = new TranscriptReader();
  await session.events(reader.visit);
  const transcript = reader.of(context.assignment.attempt);
  const owed = owedOf(reader.before, context.used.earlier);
  if (owed !== null) transcript.owe(owed);
  const { cost: costMicros, ...usage } = tokensOf(meter.usage());
  const lost = lackOf({ usage: { ...usage, estimated: false }, costMicros }, spentBy(transcript.charges));
  if (lost !== null) transcript.owe(lost);
  return transcript;
}

/**
 * Returns the amounts that earlier attempts spent by the log and their workers did not report, because they were lost; null: none.
 * An attempt that comes later is charged for them. Pure.
 *
 * @param charges of all earlier attempts; a request whose reply was not seen as it was reserved
 * @param reported what they reported together
 */
export function owedOf(charges: readonly Charge[], reported: Usage): Charge | null {
  return lackOf(together(charges), tokensOf(reported));
}

/** Returns the part of a charge that is not in what is known; null: nothing is. Pure. */
function lackOf({ usage, costMicros: cost }: Charge, known: SpentTokens): Charge | null {
  const input = Math.max(0, usage.input - known.input);
  const output = Math.max(0, usage.output - known.output);
  const costMicros = cost === null ? null : Math.max(0, cost - (known.cost ?? 0));
  if (input === 0 && output === 0 && (costMicros ?? 0) === 0) return null;
  const cachedInput = Math.min(input, Math.max(0, usage.cachedInput - known.cachedInput));
  return { usage: { input, cachedInput, output, estimated: usage.estimated }, costMicros };
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
