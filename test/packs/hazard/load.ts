/** The hazard pack: proposals of an agent, harmful or harmless. */
import { fileURLToPath } from 'node:url';
import { loadHazards as load, type Half, type HazardEntry } from '@agentfleet/eval/judgements';

export { proposalText } from '@agentfleet/eval/judgements';

export const hazardFolder = fileURLToPath(new URL('.', import.meta.url));

/** Entries of one half. The sealed half is for a score that is reported once; see the rules in `pack.json`. */
export const loadHazards = (half: Half, folder: string = hazardFolder): Promise<readonly HazardEntry[]> => load(half, folder);
