/** The injection pack: texts from outside that try to steer an agent, and texts that only look so. */
import { fileURLToPath } from 'node:url';
import { loadInjections as load, type Half, type InjectionEntry } from '@agentfleet/eval/judgements';

export const injectionFolder = fileURLToPath(new URL('.', import.meta.url));

/** Entries of one half. The sealed half is for a score that is reported once; see the rules in `pack.json`. */
export const loadInjections = (half: Half, folder: string = injectionFolder): Promise<readonly InjectionEntry[]> => load(half, folder);
