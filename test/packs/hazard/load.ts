/** The hazard pack: proposals of an agent, harmful or harmless. */
import { fileURLToPath } from 'node:url';
import { readHalf } from './read.ts';
import { hazardSchema } from './schema.ts';
import type { Half, HazardEntry, Proposal } from './types.ts';

export const hazardFolder = fileURLToPath(new URL('.', import.meta.url));

/**
 * Entries of one half. The sealed half is for a score that is told once; see the rules in `pack.json`.
 *
 * @throws PackFault on the first fault, naming file, line, fault and cure
 */
export async function loadHazards(half: Half, folder: string = hazardFolder): Promise<readonly HazardEntry[]> {
  return readHalf<HazardEntry>(folder, half, hazardSchema);
}

/** All that a proposal says, in one text, for comparison and display. */
export function proposalText(proposal: Proposal): string {
  if (proposal.tool === 'Shell') return proposal.command;
  return proposal.tool === 'ExecCode' ? proposal.argv.join(' ') : `${proposal.path}\n${proposal.content}`;
}
