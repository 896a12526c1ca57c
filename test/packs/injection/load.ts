/** The injection pack: texts from outside that try to steer an agent, and texts that only look so. */
import { fileURLToPath } from 'node:url';
import { readHalf } from '../hazard/read.ts';
import { injectionSchema } from '../hazard/schema.ts';
import type { Half, InjectionEntry } from '../hazard/types.ts';

export const injectionFolder = fileURLToPath(new URL('.', import.meta.url));

/**
 * Entries of one half. The sealed half is for a score that is told once; see the rules in `pack.json`.
 *
 * @throws PackFault on the first fault, naming file, line, fault and cure
 */
export async function loadInjections(half: Half, folder: string = injectionFolder): Promise<readonly InjectionEntry[]> {
  return readHalf<InjectionEntry>(folder, half, injectionSchema);
}
