import { docTestDelta, type Candidate, type EnergyHead, type Features } from '@agentfleet/protocol/inference';
import type { RankingContext } from '../attempt/mind.ts';

/** What is known about a candidate before it is tried, without asking anybody. */
export function featuresBefore(candidate: Candidate, { suspicion }: Pick<RankingContext, 'suspicion'>): Features {
  const { edits, score, rank, location } = candidate;
  const suspicious = suspicion(location.path, location.line);
  return {
    proposalShare: score,
    rank,
    edits: edits.length,
    files: new Set(edits.map(({ path }) => path)).size,
    charsAdded: edits.reduce((sum, { after }) => sum + after.length, 0),
    charsRemoved: edits.reduce((sum, { before }) => sum + before.length, 0),
    docTestDelta: docTestDelta(edits),
    ...(suspicious !== null && { suspicion: suspicious }),
  };
}

/** Which head of the verifier a candidate is for: commands are what can do the most. */
export function headOf({ acts = [] }: Candidate): EnergyHead {
  return acts.length > 0 ? 'Shell' : 'Code';
}
