import { decodePath, manifestFiles, type ManifestLine, type Part } from '@agentfleet/protocol/keeper';

/** A path of the workspace that a result changed. */
export interface ChangedFile {
  /** Bytes of the path below the workspace, one a character. */
  readonly path: string;
  /** The path as the keeper writes it in a diff. */
  readonly shown: string;
  /** The current content; absent: none. */
  readonly now?: {
    readonly mode: '100644' | '100755' | '120000';
    readonly sha256?: string;
    readonly size: number;
    readonly target?: string;
  };
}

const below = 'workspace/';

/**
 * Returns the part of the difference of two manifests (canonical text of the keeper) that a commit holds, in the order
 * of paths: files and links of the workspace with their executable bit. Folders, times and the content of a `.git` are
 * not part of a commit. Pure.
 */
export function changedFiles(before: Buffer, after: Buffer): readonly ChangedFile[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  const paths = [...new Set([...old.keys(), ...now.keys()])].sort();
  return paths.flatMap((encoded): ChangedFile[] => {
    const [was, is] = [old.get(encoded), now.get(encoded)];
    if (was !== undefined && is !== undefined && same(was, is)) return [];
    const bare = encoded.slice(below.length);
    const shown = Buffer.from(bare.replaceAll('%20', ' '), 'latin1').toString('utf8');
    return [{ path: decodePath(bare), shown, ...(is !== undefined && { now: contentOf(is) }) }];
  });
}

function contentOf({ type, mode, size, sha256, link }: ManifestLine): NonNullable<ChangedFile['now']> {
  if (type === 'l') return { mode: '120000', size: 0, target: decodePath(link) };
  return { mode: (mode & 0o100) === 0 ? '100644' : '100755', size, sha256 };
}

function same(a: ManifestLine, b: ManifestLine): boolean {
  if (a.type !== b.type) return false;
  return a.type === 'l' ? a.link === b.link : a.sha256 === b.sha256 && (a.mode & 0o100) === (b.mode & 0o100);
}

/** Files and links of the workspace, by their encoded path. @throws Error on text of another form */
function linesOf(text: Buffer): ReadonlyMap<string, ManifestLine> {
  const found = new Map<string, ManifestLine>();
  for (const line of manifestFiles(text)) {
    const { path } = line;
    if (path.startsWith(below) && !path.split('/').some((part) => part.toLowerCase() === '.git')) found.set(path, line);
  }
  return found;
}

/** Reads contents of snapshots, part by part. */
export type ReadParts = (parts: readonly Part[]) => Promise<Buffer>;
