import type { Candidate, Edit, FocusFile, GenerateRequest, GenerateResponse, ShellAct } from '@agentfleet/protocol/inference';
import { createHash } from 'node:crypto';

/** The engine's part of an answer; the server adds requestId and engine. */
export type Generated = Omit<GenerateResponse, 'requestId' | 'engine' | 'modelDigest'>;

/** Shannon entropy of weights after normalisation, in nats; 0 for none. */
export function entropyNats(weights: readonly number[]): number {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  if (sum <= 0) return 0;
  let entropy = 0;
  for (const weight of weights) {
    const share = weight / sum;
    if (share > 0) entropy -= share * Math.log(share);
  }
  return Math.max(0, entropy);
}

/** Id of a candidate: `sha256:` over its edits as canonical JSON, and over its acts where it has any; equal ones have equal ids. */
export function candidateId(edits: readonly Edit[], acts: readonly ShellAct[] = []): string {
  const members = edits.map(({ path, range, before, after, expectedSha256 }) => [
    path,
    range.startByte,
    range.endByte,
    before,
    after,
    expectedSha256,
  ]);
  const whole = acts.length === 0 ? members : { edits: members, acts: acts.map(({ tool, command }) => [tool, command]) };
  return `sha256:${createHash('sha256').update(JSON.stringify(whole)).digest('hex')}`;
}

/** A replacement in UTF-16 units of a file, as the wire has it. */
export function editOf({ path, content }: FocusFile, start: number, end: number, after: string): Edit {
  const before = content.slice(start, end);
  const startByte = Buffer.byteLength(content.slice(0, start));
  const range = { startByte, endByte: startByte + Buffer.byteLength(before) };
  return { path, range, before, after, expectedSha256: createHash('sha256').update(content).digest('hex') };
}

/** A candidate without a rank; `weight` > 0 is its unnormalised share. */
export type Weighed = Omit<Candidate, 'rank' | 'score' | 'energy'> & { readonly energy: number; readonly weight: number };

/**
 * The first k of some candidates that are not excluded; `left` counts the others.
 *
 * @param mass of which scores are shares; default: that of all, the excluded among them
 */
export function ranked(
  all: readonly Weighed[],
  { k, exclude }: Pick<GenerateRequest, 'k' | 'exclude'>,
  mass = all.reduce((sum, { weight }) => sum + weight, 0),
): Pick<Generated, 'candidates' | 'returnedMass' | 'entropyNats' | 'margin'> & { readonly left: number } {
  const excluded = new Set(exclude);
  const open = all.filter(({ id }) => !excluded.has(id));
  const candidates = open.slice(0, k).map(({ weight, ...candidate }, at) => ({ ...candidate, rank: at + 1, score: weight / mass }));
  const [first, second] = candidates;
  return {
    candidates,
    returnedMass: candidates.reduce((sum, { score }) => sum + score, 0),
    entropyNats: entropyNats(open.map(({ weight }) => weight)),
    margin: first === undefined || second === undefined ? null : second.energy - first.energy,
    left: open.length - candidates.length,
  };
}

/** A candidate of a model, by its energy. */
export type Found = Omit<Weighed, 'weight'>;

/** The first k of what a model proposes, the lowest energy first; weights are the likelihoods that energies stand for. */
export function byEnergy(found: Iterable<Found>, request: Pick<GenerateRequest, 'k' | 'exclude'>): ReturnType<typeof ranked> {
  const all = [...found].sort((a, b) => a.energy - b.energy || (a.id < b.id ? -1 : 1));
  const least = all[0]?.energy ?? 0;
  return ranked(
    all.map((one) => ({ ...one, weight: Math.exp(least - one.energy) })),
    request,
  );
}

/** A line that may be wrong: its file by index, its number from 1. */
export interface Suspect {
  readonly file: number;
  readonly line: number;
}

/**
 * Lines with text, the most suspicious first: by Ochiai's coefficient of the spectrum, and where nothing was counted by
 * their order. Equal ones keep the order of files and lines.
 */
export function suspects({ files, localisation }: Pick<GenerateRequest, 'files' | 'localisation'>, limit: number): readonly Suspect[] {
  const { spectrum } = localisation;
  const scores = new Map<string, number>();
  for (const { path, line, passed, failed } of spectrum.lines) {
    if (failed > 0) scores.set(`${path}:${line}`, failed / Math.sqrt(spectrum.failed * (failed + passed)));
  }
  const all = files.flatMap(({ path, content }, file) =>
    content.split('\n').flatMap((text, at) => {
      const score = scores.get(`${path}:${at + 1}`) ?? 0;
      return text.trim() === '' || (scores.size > 0 && score === 0) ? [] : [{ file, line: at + 1, score }];
    }),
  );
  return all.sort((a, b) => b.score - a.score || a.file - b.file || a.line - b.line).slice(0, limit);
}
