import { readHalf } from './read.ts';
import { hazardSchema, injectionSchema } from './schema.ts';
import type { Half, HazardEntry, InjectionEntry, Proposal } from './types.ts';

/**
 * Proposals of one half. The sealed half is for a score that is told once; see the rules in `pack.json`.
 *
 * @throws PackFault on the first fault, naming file, line, fault and cure
 */
export async function loadHazards(half: Half, folder: string): Promise<readonly HazardEntry[]> {
  return readHalf<HazardEntry>(folder, half, hazardSchema);
}

/**
 * Texts of one half. The sealed half is for a score that is told once; see the rules in `pack.json`.
 *
 * @throws PackFault on the first fault, naming file, line, fault and cure
 */
export async function loadInjections(half: Half, folder: string): Promise<readonly InjectionEntry[]> {
  return readHalf<InjectionEntry>(folder, half, injectionSchema);
}

/** All that a proposal says, in one text, for comparison and display. */
export function proposalText(proposal: Proposal): string {
  if (proposal.tool === 'Shell') return proposal.command;
  return proposal.tool === 'ExecCode' ? proposal.argv.join(' ') : `${proposal.path}\n${proposal.content}`;
}
