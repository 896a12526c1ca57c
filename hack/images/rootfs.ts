import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { cached, hashInputs } from '../cache/index.ts';
import { debianMirrorOverride, readMirrors, renderSources } from './apt.ts';
import { compilePython, furnishAccounts, furnishBusybox, furnishCertificates, furnishFiles, furnishSymlinks } from './furnish.ts';
import { debianRelease, recipes, volatileFiles, type RecipeName, type RootfsRecipe } from './recipes.ts';
import type { Prepare } from './prerequisites.ts';
import { run } from './run.ts';
import { slimRootfs } from './slim.ts';

/** A file by its content. */
export interface HashedFile {
  readonly file: string;
  readonly sha256: string;
}

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';
const sources = ['rootfs.ts', 'recipes.ts', 'slim.ts', 'furnish.ts'].map((name) => join(import.meta.dirname, name));

/**
 * Returns the root file system of a recipe as a tar archive: packages unpacked by mmdebstrap without their scripts,
 * slimmed, furnished, sorted, all times 0. The cache's key is the recipe, not the day's packages; `sha256` identifies
 * the result, and is part of the images' keys.
 */
export async function rootfs(name: RecipeName, prepare: Prepare, signal?: AbortSignal): Promise<HashedFile> {
  const key = await hashInputs({ text: [name, process.arch, debianMirrorOverride(process.env) ?? ''], paths: sources });
  const { dir } = await cached('image-rootfs', `${name}-${key}`, async (target) => {
    await prepare();
    await makeRootfs(recipes[name], target, signal);
  });
  return { file: join(dir, 'rootfs.tar'), sha256: await readFile(join(dir, 'sha256'), 'utf8') };
}

async function makeRootfs(recipe: RootfsRecipe, target: string, signal?: AbortSignal): Promise<void> {
  const root = join(target, 'root');
  const list = join(target, 'debian.sources');
  await writeFile(list, renderSources(await readMirrors(), debianRelease, keyring));
  const include = `--include=${recipe.packages.join(',')}`;
  await run(
    'mmdebstrap',
    ['--quiet', '--variant=extract', '--format=directory', '--skip=cleanup/apt/cache', include, debianRelease, root, list],
    { signal },
  ).catch((error: unknown) => {
    throw new Error('Cannot fetch Debian packages: is the mirror reachable? AGENTFLEET_DEBIAN_MIRROR overrides it.', { cause: error });
  });
  const records = await packageRecords(join(root, 'var/cache/apt/archives'), recipe.keep === undefined ? undefined : recipe.packages);
  await slimRootfs(root, { keep: recipe.keep, drop: [...volatileFiles, ...(recipe.drop ?? [])] });
  await furnish(recipe, root, records, signal);
  await chmod(root, 0o755);
  const tar = join(target, 'rootfs.tar');
  await run('tar', ['--sort=name', '--mtime=@0', '--numeric-owner', '--format=gnu', '-C', root, '-cf', tar, '.'], { signal });
  await rm(root, { recursive: true });
  await rm(list);
  await writeFile(join(target, 'sha256'), await sha256Of(tar));
}

async function furnish(recipe: RootfsRecipe, root: string, records: ReadonlyMap<string, string>, signal?: AbortSignal): Promise<void> {
  if (recipe.kind === 'busybox') {
    await furnishBusybox(root);
    return;
  }
  await furnishAccounts(root);
  await furnishCertificates(root);
  await furnishFiles(root, recipe.files);
  await furnishSymlinks(root, recipe.symlinks);
  if (recipe.compilePython) await compilePython(root, signal);
  await furnishFiles(root, Object.fromEntries([...records].map(([name, record]) => [`var/lib/dpkg/status.d/${name}`, record])));
}

/**
 * Returns the control records of the downloaded packages, for vulnerability scanners, which read
 * `/var/lib/dpkg/status.d` of images without dpkg. `only` limits them to kept packages.
 */
async function packageRecords(archives: string, only?: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const records = new Map<string, string>();
  const names = (await readdir(archives)).filter((name) => name.endsWith('.deb')).sort();
  for (const name of names) {
    const packageName = name.slice(0, name.indexOf('_'));
    if (only !== undefined && !only.includes(packageName)) continue;
    const record = await run('dpkg-deb', ['--field', join(archives, name)]);
    records.set(packageName, `${record.replace(/^(Package: .*)$/m, '$1\nStatus: install ok installed')}\n`);
  }
  return records;
}

/** SHA-256 of a file in hex, read in pieces. */
export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
