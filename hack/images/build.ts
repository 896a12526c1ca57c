import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cached, hashInputs } from '../cache/index.ts';
import { bytesOf, summarizeArchive } from './archive.ts';
import { buildArchive } from './buildah.ts';
import { machineParts, once, selectImages, type ContextFile, type ImageDefinition, type Parts } from './catalogue.ts';
import { hostArch, repository } from './parts.ts';
import { ensurePrerequisites, type Prepare } from './prerequisites.ts';
import { pruneImages } from './prune.ts';
import type { RecipeName } from './recipes.ts';
import { rootfs, type HashedFile } from './rootfs.ts';
import { PartUnavailable } from './run.ts';

/** A finished image. */
export interface BuiltImage {
  readonly name: string;
  /** `localhost/agentfleet/<name>:<key>`; the key changes with every input, so a ref never changes its meaning. */
  readonly ref: string;
  /** `sha256:…` of the image's configuration: the image id that the kubelet reports. */
  readonly digest: string;
  /** Path of the docker-archive, for `ctr -n k8s.io images import`, `docker load`, `podman load`. */
  readonly archive: string;
  /** Size of the archive in bytes. */
  readonly bytes: number;
  /** Whether this call built it; false when it is from the cache. */
  readonly built: boolean;
}

export interface BuildOptions {
  readonly signal?: AbortSignal;
  /** Reported which images are left out, and why; a warning of the process otherwise. */
  readonly warn?: (message: string) => void;
}

interface Tools {
  readonly prepare: Prepare;
  readonly parts: Parts;
  readonly signal: AbortSignal | undefined;
}

interface ImageInputs {
  readonly name: string;
  readonly dockerfile: string;
  readonly version: string;
  readonly arch: string;
  readonly rootfsSha256: string;
  readonly context: readonly Pick<ContextFile, 'path' | 'mode' | 'sha256'>[];
}

/** The sources that decide how inputs become an archive. */
const driver = join(import.meta.dirname, 'buildah.ts');

/** The key of an image: 16 hex digits over all that its content depends on. The order of the context does not count. */
export async function imageKey(inputs: ImageInputs): Promise<string> {
  const context = inputs.context.map((file) => `${file.path} ${file.mode.toString(8)} ${file.sha256}`).sort();
  const text = [inputs.name, inputs.version, inputs.arch, inputs.rootfsSha256, inputs.dockerfile, ...context];
  return hashInputs({ text, paths: [driver] });
}

/**
 * Builds the images of these names (default: all), each at most once per content.
 * Independent images are built at once. Throws one sentence per image that cannot be built,
 * after the others are finished; an image that may be missing is left out with a warning.
 */
export async function buildImages(names?: readonly string[], options: BuildOptions = {}): Promise<BuiltImage[]> {
  const images = selectImages(names);
  const prepare = once(() => ensurePrerequisites(options.signal));
  const tools: Tools = { prepare, signal: options.signal, parts: machineParts({ prepare, signal: options.signal }) };
  const bases = new Map<RecipeName, Promise<HashedFile>>();
  const base = (name: RecipeName): Promise<HashedFile> => {
    const known = bases.get(name) ?? rootfs(name, prepare, options.signal);
    bases.set(name, known);
    return known;
  };
  const outcomes = await Promise.allSettled(images.map((image) => buildImage(image, base, tools)));
  const failures = outcomes.flatMap((outcome, index) =>
    outcome.status === 'rejected' ? failureOf(images[index], outcome.reason, options) : [],
  );
  if (failures.length > 0) throw new Error(failures.join('\n'));
  // Repeated builds would fill the disk.
  if (outcomes.some((outcome) => outcome.status === 'fulfilled' && outcome.value.built)) await pruneImages();
  return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
}

/** The sentence of a failure; none for an image that the fleet runs without. */
export function failureOf(image: ImageDefinition | undefined, reason: unknown, { warn = console.warn }: BuildOptions): readonly string[] {
  const sentence = describe(image, reason);
  if (image?.without === undefined || !(reason instanceof PartUnavailable)) return [sentence];
  warn(`${sentence}\n  The image ${image.name} is left out: ${image.without}.`);
  return [];
}

function describe(image: ImageDefinition | undefined, reason: unknown): string {
  const error = reason instanceof Error ? reason : new Error(String(reason));
  const cause = error.cause instanceof Error ? `\n  ${error.cause.message}` : '';
  return `image ${image?.name ?? '?'}: ${error.message}${cause}`;
}

async function buildImage(
  image: ImageDefinition,
  base: (name: RecipeName) => Promise<HashedFile>,
  { prepare, parts, signal }: Tools,
): Promise<BuiltImage> {
  const [root, context] = await Promise.all([base(image.rootfs), image.context(parts)]);
  const dockerfile = await readFile(join(repository, image.dockerfile), 'utf8');
  const version = await repositoryVersion();
  const key = await imageKey({ name: image.name, dockerfile, version, arch: hostArch(), rootfsSha256: root.sha256, context });
  const ref = `localhost/agentfleet/${image.name}:${key}`;
  const { dir, built } = await cached('images', `${image.name}-${key}`, async (target) => {
    await prepare();
    const contextDir = await mkdtemp(join(target, 'context-'));
    await stageContext(context, contextDir);
    const staged = join(contextDir, 'Dockerfile');
    await writeFile(staged, dockerfile);
    const archive = join(target, 'image.tar');
    const buildArgs = { TARGETARCH: hostArch(), VERSION: version };
    await buildArchive({ ref, dockerfile: staged, contextDir, rootfs: root, buildArgs, archive, signal });
    await rm(contextDir, { recursive: true });
    const { digest, layerBytes } = await summarizeArchive(archive);
    await writeFile(join(target, 'image.json'), `${JSON.stringify({ name: image.name, ref, digest, layerBytes })}\n`);
  });
  const archive = join(dir, 'image.tar');
  const { digest } = JSON.parse(await readFile(join(dir, 'image.json'), 'utf8')) as { digest: string };
  return { name: image.name, ref, digest, archive, bytes: await bytesOf(archive), built };
}

/** Copies context files into `folder`, with their modes whatever the caller's umask is. */
export async function stageContext(context: readonly ContextFile[], folder: string): Promise<void> {
  for (const { path, file, mode } of context) {
    const target = join(folder, path);
    await mkdir(dirname(target), { recursive: true });
    await copyFile(file, target);
    await chmod(target, mode);
  }
}

async function repositoryVersion(): Promise<string> {
  return (JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as { version: string }).version;
}
