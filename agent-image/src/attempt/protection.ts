import type { ArtifactCheck } from '@agentfleet/protocol/api';
import { protectedPaths, type CheckCommand, type Protect, type ProtectedSet } from '../checks/index.ts';

/** Rounds of reading scripts that scripts call; each finds at least one more file. */
const maxRounds = 12;
const maxScriptBytes = 256 * 1024;

/**
 * What an attempt may not touch, from the tree of snapshot 0. The files that the checks' scripts call are read as far as
 * they are asked for: each round answers what the round before wanted to read.
 *
 * @param tree paths below the workspace at snapshot 0
 */
export async function protection(
  tree: readonly string[],
  checks: readonly CheckCommand[],
  protect: Protect,
  read: (path: string) => Promise<Buffer | null>,
): Promise<ProtectedSet> {
  const paths = new Set(tree);
  const known = new Map<string, string | undefined>();
  for (let round = 0; ; round += 1) {
    const wanted = new Set<string>();
    const set = protectedPaths(tree, checks, protect, (path) => {
      if (!known.has(path) && paths.has(path)) wanted.add(path);
      return known.get(path);
    });
    if (wanted.size === 0 || round >= maxRounds) return set;
    for (const path of wanted) known.set(path, textOf(await read(path)));
  }
}

/** The set without the files that the agent is to make: what a check demands is never protected. */
export function exceptArtifacts(set: ProtectedSet, artifacts: readonly ArtifactCheck[]): ProtectedSet {
  if (artifacts.length === 0) return set;
  const own = new Set(artifacts.map(({ path }) => path));
  return {
    ...set,
    why: (path) => (own.has(path) ? null : set.why(path)),
    shadows: (path) => (own.has(path) ? null : set.shadows(path)),
    derived: (path) => !own.has(path) && set.derived(path),
    reports: set.reports.filter((path) => !own.has(path)),
    files: set.files.filter((path) => !own.has(path)),
  };
}

function textOf(bytes: Buffer | null): string | undefined {
  return bytes === null || bytes.length > maxScriptBytes ? undefined : bytes.toString('utf8');
}
