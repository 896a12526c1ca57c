import { join } from 'node:path';
import { readHalf, readLines } from './read.ts';
import { contextSchema, hazardSchema, injectionSchema } from './schema.ts';
import type { EntryContext, Half, HazardEntry, InjectionEntry, Proposal } from './types.ts';

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

/**
 * Contexts of one half by the id of their entry, of packs that have them; for the sealed half the same rules hold.
 *
 * @throws PackFault on the first fault, naming file, line, fault and cure
 */
export async function loadContexts(half: Half, folder: string): Promise<ReadonlyMap<string, EntryContext>> {
  const lines = await readLines<EntryContext>(join(folder, `${half}-context.jsonl`), contextSchema);
  return new Map(lines.map((line) => [line.id, line]));
}

/** All that a proposal says, in one text, for comparison and display. */
export function proposalText(proposal: Proposal): string {
  if (proposal.tool === 'Shell') return proposal.command;
  return proposal.tool === 'ExecCode' ? proposal.argv.join(' ') : `${proposal.path}\n${proposal.content}`;
}
