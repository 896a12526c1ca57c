/** The content-hash cache outside git: built once, reused by every clone. Imports nothing of the project. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** A finished entry of the cache: its folder, and whether this call made it. */
interface CacheEntry {
  readonly dir: string;
  readonly built: boolean;
}

/** The cache's folder: `$AGENTFLEET_CACHE`, or `agentfleet` under the user's cache folder (XDG Base Directory). */
export function cacheRoot(env: NodeJS.ProcessEnv = process.env): string {
  return env['AGENTFLEET_CACHE'] ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'agentfleet');
}

/**
 * SHA-256 over strings and files, as the first 16 hex digits. Folders count with the names and
 * contents of all files below them; `.test.ts` files do not count, they build nothing.
 */
export async function hashInputs(inputs: { readonly text?: readonly string[]; readonly paths?: readonly string[] }): Promise<string> {
  const hash = createHash('sha256');
  for (const text of inputs.text ?? []) hash.update(`t${text.length}:${text}`);
  for (const path of inputs.paths ?? []) await hashPath(hash, path, '.');
  return hash.digest('hex').slice(0, 16);
}

async function hashPath(hash: ReturnType<typeof createHash>, path: string, name: string): Promise<void> {
  const info = await stat(path);
  if (info.isDirectory()) {
    const names = (await readdir(path)).filter((entry) => entry !== 'node_modules').sort();
    hash.update(`d${name}:${names.length};`);
    for (const entry of names) await hashPath(hash, join(path, entry), entry);
  } else if (!name.endsWith('.test.ts')) {
    const content = await readFile(path);
    hash.update(`f${name}:${info.mode & 0o111 ? 'x' : '-'}${content.length}:`).update(content);
  }
}

/**
 * Returns the folder `<cache>/<kind>/<key>`, made by `build` when missing. `build` fills a temporary folder that is
 * renamed into place only when it succeeds, so an interrupted build never leaves a partial entry. With two builders at
 * once, the first to finish wins.
 */
export async function cached(kind: string, key: string, build: (dir: string) => Promise<void>): Promise<CacheEntry> {
  const dir = join(cacheRoot(), kind, key);
  if (existsSync(join(dir, '.complete'))) {
    const now = new Date();
    await utimes(join(dir, '.complete'), now, now);
    return { dir, built: false };
  }
  const temporary = `${dir}.tmp-${process.pid}`;
  await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary, { recursive: true });
  try {
    await build(temporary);
    await writeFile(join(temporary, '.complete'), `${new Date().toISOString()}\n`);
    try {
      await rename(temporary, dir);
    } catch (error) {
      if (!existsSync(join(dir, '.complete'))) throw error;
    }
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return { dir, built: true };
}
