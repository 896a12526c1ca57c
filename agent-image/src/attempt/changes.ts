import type { DiffEntry } from '@agentfleet/protocol/keeper';
import { judgeChanges, type Change, type ChangeJudgement, type Operation, type ProtectedSet } from '../checks/index.ts';
import type { SandboxSession } from './sandboxSession.ts';

/** What changed between two snapshots, and what of it is not the agent's to change. */
export interface Changes extends ChangeJudgement {
  readonly entries: readonly DiffEntry[];
}

/** Judges what changed between two snapshots. The tree has to be that of `to`, and is so afterwards. */
export async function changesBetween(session: SandboxSession, set: ProtectedSet, from: string, to: string): Promise<Changes> {
  const { entries } = await session.diff(from, to);
  const paths = new Set(entries.map(({ path }) => path));
  const isFolder = ({ path }: DiffEntry): boolean => [...paths].some((other) => other.startsWith(`${path}/`));
  const shared = entries.filter(({ path, op }) => op === 'M' && set.why(session.relative(path) ?? path)?.kind === 'Settings');
  const contents = await contentsOf(session, from, to, shared);
  const changes = entries
    .filter((entry) => entry.op !== 'A' || !isFolder(entry))
    .map((entry) => changeOf(entry, session.relative(entry.path), contents));
  return { entries, ...judgeChanges(changes, set) };
}

type Contents = ReadonlyMap<string, { readonly before: string | undefined; readonly after: string | undefined }>;

/** A path outside the workspace keeps its root and so leads out of it: that is a violation by itself. */
function changeOf({ path, op, modeFrom, modeTo, sizeFrom, sizeTo }: DiffEntry, relative: string | null, contents: Contents): Change {
  const known = contents.get(path);
  const modeOnly = op === 'M' && modeFrom !== modeTo && sizeFrom === sizeTo && known === undefined;
  const operations = { A: 'Add', M: modeOnly ? 'Mode' : 'Modify', D: 'Delete', T: 'Type' } as const satisfies Record<
    DiffEntry['op'],
    Operation
  >;
  return {
    path: relative ?? `../${path}`,
    op: operations[op],
    ...(known?.before !== undefined && { before: known.before }),
    ...(known?.after !== undefined && { after: known.after }),
  };
}

/** Both sides of shared settings files, which are judged by what changed in them. */
async function contentsOf(session: SandboxSession, from: string, to: string, entries: readonly DiffEntry[]): Promise<Contents> {
  if (entries.length === 0) return new Map();
  const paths = entries.flatMap(({ path }) => session.relative(path) ?? []);
  const { before, after } = await bothSides(session, from, to, paths);
  const text = (side: ReadonlyMap<string, Buffer>, path: string): string | undefined =>
    side.get(session.relative(path) ?? path)?.toString('utf8');
  return new Map(entries.map(({ path }) => [path, { before: text(before, path), after: text(after, path) }] as const));
}

/** Files of two snapshots, by path below the workspace. The tree has to be that of `to`, and is so afterwards. */
export async function bothSides(
  session: SandboxSession,
  from: string,
  to: string,
  paths: readonly string[],
): Promise<{ readonly before: ReadonlyMap<string, Buffer>; readonly after: ReadonlyMap<string, Buffer> }> {
  const read = async (): Promise<ReadonlyMap<string, Buffer>> => {
    const found = new Map<string, Buffer>();
    for (const path of paths) {
      const bytes = await session.read(path);
      if (bytes !== null) found.set(path, bytes);
    }
    return found;
  };
  const after = await read();
  await session.restore(from);
  const before = await read();
  await session.restore(to);
  return { before, after };
}
