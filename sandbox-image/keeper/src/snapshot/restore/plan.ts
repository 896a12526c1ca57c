import { decodePath, type SkippedPath } from '@agentfleet/protocol/keeper';
import { compareManifests, type Change, type ManifestEntry, type Tree } from '../base/manifest.ts';
import { parentOf, type BytePath } from '../base/pathBytes.ts';

/** The steps of a restore, in the order of the fields. Pure data; {@link applyPlan} executes it. */
export interface RestorePlan {
  /** Directories that must be opened up to work below them or to see that they are empty, parents first. */
  readonly open: readonly ManifestEntry[];
  /** Deepest first, so that a directory is empty when its turn comes. */
  readonly remove: readonly { readonly path: BytePath; readonly directory: boolean }[];
  /** Parents first. */
  readonly mkdir: readonly ManifestEntry[];
  /** Files and symlinks to create; the first name of a hard-link group comes before the others. */
  readonly place: readonly ManifestEntry[];
  /** Files of which only the mode differs. */
  readonly chmod: readonly ManifestEntry[];
  /** Files and directories whose extended attributes must be set, in any order. */
  readonly xattrs: readonly ManifestEntry[];
  /** Modification times to set: files and links, then directories, deepest first. */
  readonly times: readonly ManifestEntry[];
  /** Final modes of directories, deepest first. */
  readonly dirModes: readonly ManifestEntry[];
  readonly created: number;
  readonly modified: number;
  readonly deleted: number;
}

const OWNER_ALL = 0o700;

/** Plans current → target. Fifos, sockets and devices that are new or in the way are removed. */
export function planRestore(current: Tree, target: Tree): RestorePlan {
  const changes = compareManifests(current, target);
  const specials = extraSpecials(current, target);
  const above = ancestorsOf([...changes.map(({ path }) => path), ...specials]);
  const leaving = new Set(changes.filter(goes).map(({ path }) => path));
  const open = current.entries.filter((entry) => isClosed(entry) && (leaving.has(entry.path) || above.has(entry.path)));
  const reopened = new Set(open.map((entry) => entry.path));
  const mkdir = present(changes.filter(({ from, to }) => to?.type === 'd' && from?.type !== 'd'));
  const place = present(changes.filter(needsContent));
  const remove = [
    ...changes.filter(goes).map(({ path, from }) => ({ path, directory: from?.type === 'd' })),
    ...specials.map((path) => ({ path, directory: false })),
  ].sort((a, b) => (a.path < b.path ? 1 : -1));
  const disturbed = new Set([...remove, ...mkdir, ...place].map(({ path }) => parentOf(path)));
  const changed = new Set(changes.map(({ path }) => path));
  const dirs = target.entries.filter((entry) => entry.type === 'd').reverse();
  return {
    open,
    remove,
    mkdir,
    place,
    chmod: present(changes.filter((change) => change.to?.type === 'f' && !needsContent(change) && change.from?.mode !== change.to.mode)),
    xattrs: present(changes.filter(needsXattrs)),
    times: [
      ...present(changes).filter((entry) => entry.type !== 'd'),
      ...dirs.filter((entry) => changed.has(entry.path) || disturbed.has(entry.path)),
    ],
    dirModes: dirs.filter((entry) => changed.has(entry.path) || reopened.has(entry.path)),
    created: changes.filter(({ from }) => from === null).length,
    modified: changes.filter(({ from, to }) => from !== null && to !== null).length,
    deleted: changes.filter(({ to }) => to === null).length,
  };
}

function ancestorsOf(paths: readonly BytePath[]): ReadonlySet<BytePath> {
  const above = new Set<BytePath>();
  for (const path of paths) {
    for (let directory = parentOf(path); directory !== '' && !above.has(directory); directory = parentOf(directory)) above.add(directory);
  }
  return above;
}

function isClosed(entry: ManifestEntry): boolean {
  return entry.type === 'd' && (entry.mode & OWNER_ALL) !== OWNER_ALL;
}

function needsContent({ from, to }: Change): boolean {
  if (to === null || to.type === 'd') return false;
  return from === null || from.type !== to.type || from.hash !== to.hash || from.link !== to.link;
}

/** A recreated entry has no attributes. */
function needsXattrs(change: Change): boolean {
  const { from, to } = change;
  if (to === null || to.type === 'l') return false;
  return (needsContent(change) || from?.type !== to.type ? '' : from.xattrs) !== to.xattrs;
}

/** A path is removed when it is gone from the target, or when a directory is on either side of a type change. */
function goes({ from, to }: Change): boolean {
  if (from === null) return false;
  return to === null || (from.type !== to.type && (from.type === 'd' || to.type === 'd'));
}

function present(changes: readonly Change[]): ManifestEntry[] {
  return changes.map(({ to }) => to).filter((entry): entry is ManifestEntry => entry !== null);
}

/** Special files of the current tree that the target did not have at that path. */
function extraSpecials(current: Tree, target: Tree): BytePath[] {
  const kept = new Set(skippedAt(target, specialKinds));
  return skippedAt(current, specialKinds).filter((path) => !kept.has(path));
}

const specialKinds: readonly SkippedPath['kind'][] = ['fifo', 'socket', 'device'];

/** Paths of a tree that were passed over, as bytes; by default all that a restore cannot bring back. */
export function skippedAt(
  { skipped }: Pick<Tree, 'skipped'>,
  kinds: readonly SkippedPath['kind'][] = [...specialKinds, 'mount', 'unreadable'],
): BytePath[] {
  const chosen = skipped.filter(({ kind }) => kinds.includes(kind));
  return chosen.map(({ path }) => decodePath(Buffer.from(path, 'utf8').toString('latin1')));
}
