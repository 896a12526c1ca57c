import { lstat, readlink } from 'node:fs/promises';
import { lookBounds, type FileEntry, type FileList, type ListQuery } from '@agentfleet/protocol/keeper';
import { errnoOf } from '../failure.ts';
import { bytesOf, displayPath, sysPath } from '../snapshot/index.ts';
import { resolveFolder } from './resolve.ts';
import { walk, type Walked } from './walk.ts';

const defaultEntries = 1000;

/** What stands below a folder inside the roots. The caller holds the gate. @throws KeeperError */
export async function listFiles(roots: readonly string[], { path, depth, limit }: ListQuery): Promise<FileList> {
  const folder = await resolveFolder(roots, path, false);
  const most = Math.min(Number(limit ?? defaultEntries), lookBounds.entries);
  const counts = { unreadable: 0 };
  const entries: FileEntry[] = [];
  let truncated = false;
  for await (const walked of walk(bytesOf(folder), Number(depth ?? 1), counts)) {
    truncated = entries.length === most;
    if (truncated) break;
    const entry = await entryOf(walked);
    if (entry !== null) entries.push(entry);
  }
  return { path: folder, entries, truncated, unreadable: counts.unreadable };
}

async function entryOf({ name, path, kind }: Walked): Promise<FileEntry | null> {
  try {
    const { size, mode } = await lstat(sysPath(path));
    const entry = { path: displayPath(name), kind, bytes: kind === 'file' ? size : 0, mode: mode & 0o7777 };
    return kind === 'link' ? { ...entry, target: displayPath(await readlink(sysPath(path), 'latin1')) } : entry;
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT' || code === 'EINVAL' || code === 'ENAMETOOLONG') return null;
    throw error;
  }
}
