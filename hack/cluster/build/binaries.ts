import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { cached, cacheRoot, hashInputs } from '../../cache/index.ts';
import { ClusterError } from '../base/errors.ts';
import { buildArguments, families, family, familyDir, familyOf, familyVersion, type Family, type FamilyName } from './families.ts';

/** Values of `go env` that change the result of a build. */
export interface GoFacts {
  /** Such as `go1.26.8`. */
  readonly GOVERSION: string;
  readonly GOARCH: string;
  readonly GOFLAGS: string;
  readonly GOTOOLCHAIN: string;
}

/** Asks the Go command; `undefined` when there is none. */
export async function goFacts(): Promise<GoFacts | undefined> {
  try {
    const { stdout } = await execa('go', ['env', '-json', 'GOVERSION', 'GOARCH', 'GOFLAGS', 'GOTOOLCHAIN'], { cwd: familyDir('runc') });
    return JSON.parse(stdout) as GoFacts;
  } catch {
    return undefined;
  }
}

/** Kind of the cache entries; the cluster's processes have their executable below it. */
export const binaryCache = 'cluster-bin';

/** The folders of built families, and the binaries in them. */
export class Binaries {
  readonly #folders: ReadonlyMap<FamilyName, string>;

  constructor(folders: ReadonlyMap<FamilyName, string>) {
    this.#folders = folders;
  }

  /** Absolute path of a binary. Throws AF_BINARY_UNKNOWN when none of the built families has it. */
  path(binary: string): string {
    const owner = familyOf(binary);
    const folder = owner && this.#folders.get(owner.name);
    if (folder) return join(folder, binary);
    throw new ClusterError('AF_BINARY_UNKNOWN', {
      what: `there is no binary "${binary}"`,
      where: `built families: ${[...this.#folders.keys()].join(', ')}`,
      cure: owner
        ? `It comes with the family ${owner.name}: bring up --tier node${owner.name === 'kwok' ? ' --kwok' : ''}`
        : 'Check the name',
    });
  }

  /** The folder of a family that is known to be built. */
  folder(name: FamilyName): string {
    const folder = this.#folders.get(name);
    if (!folder) throw new Error(`family ${name} is not built`);
    return folder;
  }
}

async function cacheKey(wanted: Family, args: readonly string[], go: GoFacts): Promise<string> {
  const dir = familyDir(wanted.name);
  const text = [...args, String(wanted.cgo), go.GOVERSION, go.GOARCH, go.GOFLAGS, JSON.stringify(wanted.rename)];
  return `${wanted.name}-${await hashInputs({ text, paths: ['go.mod', 'go.sum', ...wanted.sources].map((name) => join(dir, name)) })}`;
}

async function install(wanted: Family, args: readonly string[], into: string, signal?: AbortSignal): Promise<void> {
  const env = { GOBIN: into, CGO_ENABLED: wanted.cgo ? '1' : '0', GOOS: '', GOARCH: '' };
  try {
    await execa('go', args, { cwd: familyDir(wanted.name), env, ...(signal ? { cancelSignal: signal } : {}) });
  } catch (error) {
    const words = (error as { stderr?: string }).stderr?.trim().split('\n').slice(-5).join(' / ') ?? String(error);
    throw new ClusterError('AF_BUILD_FAILED', {
      what: `the binaries of ${wanted.name} do not build: ${words}`,
      where: `hack/cluster/build/${wanted.name}`,
      cure: 'Check that the Go module proxy is reachable and that there is free disk and memory, then run the command again',
    });
  }
  for (const [from, to] of Object.entries(wanted.rename)) await rename(join(into, from), join(into, to));
}

async function build(wanted: Family, go: GoFacts, log: (line: string) => void, signal?: AbortSignal): Promise<string> {
  const version = await familyVersion(wanted);
  const args = buildArguments(wanted, version);
  const begin = performance.now();
  const entry = await cached(binaryCache, await cacheKey(wanted, args, go), (dir) => install(wanted, args, dir, signal));
  if (entry.built) log(`built ${wanted.name} ${version} in ${((performance.now() - begin) / 1000).toFixed(1)} s`);
  return entry.dir;
}

/**
 * Builds the named families, or finds them in the cache, and logs one line for each that it built.
 * Two at a time: while one links on a single core, the other downloads and compiles.
 * Throws AF_BUILD_FAILED with the compiler's last words.
 */
export async function buildFamilies(
  names: readonly FamilyName[],
  go: GoFacts,
  log: (line: string) => void,
  signal?: AbortSignal,
): Promise<Binaries> {
  const queue = families.filter((candidate) => names.includes(candidate.name));
  const folders = new Map<FamilyName, string>();
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) folders.set(next.name, await build(next, go, log, signal));
  };
  await Promise.all([worker(), worker()]);
  return new Binaries(folders);
}

/** The source folder of a module that a family requires, by default its own, in Go's module cache (downloaded when missing). */
export async function moduleDir(name: FamilyName, module = family(name).module): Promise<string> {
  const { stdout } = await execa('go', ['mod', 'download', '-json', module], { cwd: familyDir(name) });
  return (JSON.parse(stdout) as { Dir: string }).Dir;
}

/** Reports whether all the named families are in the cache already. */
export async function areBuilt(names: readonly FamilyName[], go: GoFacts): Promise<boolean> {
  const entries = names.map(async (name) => {
    const wanted = family(name);
    const key = await cacheKey(wanted, buildArguments(wanted, await familyVersion(wanted)), go);
    return existsSync(join(cacheRoot(), binaryCache, key, '.complete'));
  });
  return (await Promise.all(entries)).every(Boolean);
}
