import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { cacheRoot } from '../cache/index.ts';
import type { BuiltImage } from './build.ts';
import { sha256Of } from './rootfs.ts';

/** An image as one build made it. */
interface Fingerprint {
  readonly ref: string;
  readonly digest: string;
  readonly archiveSha256: string;
}

/** Two builds from empty caches, compared. */
export interface Comparison {
  readonly same: readonly Fingerprint[];
  readonly different: readonly string[];
}

/** Compares two builds: an image is the same only when its ref, its digest and all bytes of its archive are. */
export function compareBuilds(first: readonly Fingerprint[], second: readonly Fingerprint[]): Comparison {
  const left = new Map(first.map((image) => [image.ref, image]));
  const same = second.filter((image) => {
    const other = left.get(image.ref);
    return other?.digest === image.digest && other.archiveSha256 === image.archiveSha256;
  });
  const refs = new Set([...first, ...second].map((image) => image.ref));
  return { same, different: [...refs].filter((ref) => !same.some((image) => image.ref === ref)).sort() };
}

/**
 * Builds the images twice, each time into an empty cache, and compares. The second build gets another umask, time zone,
 * locale and folder, so that influences of the machine on an image show.
 */
export async function reproduce(names: readonly string[], signal?: AbortSignal): Promise<Comparison> {
  const work = join(cacheRoot(), 'reproduce');
  await mkdir(work, { recursive: true });
  const folder = await mkdtemp(join(work, 'run-'));
  try {
    const first = await buildInto(join(folder, 'a'), names, '022', { TZ: 'UTC', LANG: 'C' }, signal);
    const second = await buildInto(join(folder, 'longer-b'), names, '077', { TZ: 'Asia/Kathmandu', LANG: 'tr_TR.UTF-8' }, signal);
    return compareBuilds(first, second);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function buildInto(
  cache: string,
  names: readonly string[],
  umask: string,
  env: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): Promise<readonly Fingerprint[]> {
  const main = join(import.meta.dirname, 'main.ts');
  const command = [process.execPath, main, 'build', '--json', ...names];
  const { stdout } = await execa('sh', ['-c', `umask ${umask} && exec "$@"`, 'sh', ...command], {
    env: { ...env, AGENTFLEET_CACHE: cache },
    stderr: 'inherit',
    ...(signal === undefined ? {} : { cancelSignal: signal }),
  });
  const images = JSON.parse(stdout) as readonly BuiltImage[];
  return Promise.all(images.map(async ({ ref, digest, archive }) => ({ ref, digest, archiveSha256: await sha256Of(archive) })));
}
