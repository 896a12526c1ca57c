import { copyFile, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cached, hashInputs } from '../cache/index.ts';
import { repository } from './parts.ts';
import { sha256Of, type HashedFile } from './rootfs.ts';
import { run, PartUnavailable } from './run.ts';
import { slimRootfs } from './slim.ts';

/** npm packages that an image has as they are, from a lock of their own: no bundle can hold them. */
interface ModulesRecipe {
  readonly name: string;
  /** Folder of `package.json` and `package-lock.json`, relative to the repository. */
  readonly folder: string;
  /** The only architecture (Node's name) that the lock has binaries for. */
  readonly arch?: string;
  /** Path of `node_modules` in the archive. */
  readonly prefix: string;
  /** Globs below `node_modules` of removed files. */
  readonly drop: readonly string[];
  /** Files that no package has: path in the archive → content. */
  readonly files?: Readonly<Record<string, string>>;
  /** Path in the archive → target. */
  readonly symlinks?: Readonly<Record<string, string>>;
}

/** Files for people, and `.package-lock.json`, which names the registry that this machine used. */
const always: readonly string[] = ['.package-lock.json', '**/{README,CHANGELOG,HISTORY}*', '**/*.{map,d.ts,d.mts,d.cts}', '**/.github/**'];

/**
 * npm itself, for the tools image. Its notices about funding, audits and newer versions make no request to a registry;
 * its cache and logs are outside of snapshots.
 */
export const npmModules: ModulesRecipe = {
  name: 'npm',
  folder: 'sandbox-image/tools/npm',
  prefix: 'lib',
  drop: ['npm/{docs,man}/**'],
  files: { 'etc/npmrc': 'audit=false\nfund=false\nupdate-notifier=false\ncache=/tmp/.npm\n' },
  symlinks: { 'bin/npm': '../lib/node_modules/npm/bin/npm-cli.js', 'bin/npx': '../lib/node_modules/npm/bin/npx-cli.js' },
};

/** llama.cpp for Node on the CPU. The removed files build it from sources, which an image never does. */
export const llamaModules: ModulesRecipe = {
  name: 'llama',
  folder: 'inference-image/llama',
  arch: 'x64',
  prefix: '.',
  drop: ['node-llama-cpp/llama/{addon,cmake,grammars,profiles}/**', 'node-llama-cpp/{llama/gitRelease.bundle,templates/**}'],
};

/**
 * The packages of a recipe as a tar archive: installed by `npm ci` with the machine's configuration, checked against
 * the lock, no script run, pruned, sorted, all times 0. @throws PartUnavailable when npm cannot fetch them
 */
export async function nodeModules(recipe: ModulesRecipe, signal?: AbortSignal): Promise<HashedFile> {
  const { arch = process.arch } = recipe;
  if (arch !== process.arch)
    throw new PartUnavailable(`${recipe.folder}/package-lock.json has binaries for ${arch}, not for ${process.arch}`);
  const folder = join(repository, recipe.folder);
  const manifests = ['package.json', 'package-lock.json'].map((name) => join(folder, name));
  const key = await hashInputs({ text: [recipe.name, process.arch], paths: [...manifests, import.meta.filename] });
  const { dir } = await cached('image-modules', `${recipe.name}-${key}`, async (target) => {
    const work = join(target, 'work');
    await mkdir(work);
    for (const file of [...manifests, join(repository, '.npmrc')]) await copyFile(file, join(work, file.slice(dirname(file).length + 1)));
    await install(recipe, work, signal);
    await slimRootfs(join(work, 'node_modules'), { drop: [...always, ...recipe.drop] });
    await archive(recipe, work, join(target, 'modules.tar'), signal);
    await writeFile(join(target, 'sha256'), await sha256Of(join(target, 'modules.tar')));
    await rm(work, { recursive: true });
  });
  return { file: join(dir, 'modules.tar'), sha256: await readFile(join(dir, 'sha256'), 'utf8') };
}

async function install({ folder }: ModulesRecipe, work: string, signal?: AbortSignal): Promise<void> {
  const flags = ['--ignore-scripts', '--omit=optional', '--no-bin-links', '--loglevel=error'];
  await run('npm', ['ci', ...flags], { cwd: work, signal }).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw new PartUnavailable(`npm cannot install the packages of ${folder}/package-lock.json: is the npm registry reachable?`, error);
  });
}

async function archive(
  { prefix, files = {}, symlinks = {} }: ModulesRecipe,
  work: string,
  tar: string,
  signal?: AbortSignal,
): Promise<void> {
  const root = join(work, 'root');
  await mkdir(join(root, prefix), { recursive: true });
  await rename(join(work, 'node_modules'), join(root, prefix, 'node_modules'));
  const place = async (path: string, make: (at: string) => Promise<void>): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await make(join(root, path));
  };
  for (const [path, content] of Object.entries(files)) await place(path, (at) => writeFile(at, content));
  for (const [path, target] of Object.entries(symlinks)) await place(path, (at) => symlink(target, at));
  // Modes of the packages, without effects of this process's or npm's umask.
  await run('chmod', ['-R', 'u=rwX,go=rX', root], { signal });
  const fixed = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];
  await run('tar', [...fixed, '-C', root, '-cf', tar, '.'], { signal });
}
