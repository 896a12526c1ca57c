// hack, images: reproducible build of an image by buildah. Of other folders imports hack/cache, hack/cluster/build.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from './run.ts';

/** Input of buildah for an archive. */
interface ArchiveRequest {
  readonly ref: string;
  readonly dockerfile: string;
  readonly contextDir: string;
  readonly rootfs: { readonly file: string; readonly sha256: string };
  readonly buildArgs: Readonly<Record<string, string>>;
  /** The docker-archive to write. */
  readonly archive: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Returns the arguments of `buildah build`. For a reproducible result: OCI format (the Docker one records the random
 * names of working containers), times 0, no label with buildah's version. One layer per instruction, so an image that
 * only changed its bundle shares the rest.
 */
export function buildArguments(request: Pick<ArchiveRequest, 'ref' | 'dockerfile' | 'contextDir' | 'buildArgs'>): readonly string[] {
  const fixed = ['--isolation', 'chroot', '--timestamp', '0', '--format', 'oci', '--identity-label=false', '--layers=true', '--pull=never'];
  const args = Object.entries(request.buildArgs)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
  return ['build', '--quiet', ...fixed, ...args, '--tag', request.ref, '--file', request.dockerfile, request.contextDir];
}

/**
 * Builds in a separate storage that is removed afterwards: the archives are the only state, so nothing can be stale and
 * parallel builds do not conflict.
 */
export async function buildArchive(request: ArchiveRequest): Promise<void> {
  const storage = await mkdtemp(join(dirname(request.archive), 'storage-'));
  try {
    const buildah = await openStorage(storage, request.signal);
    const base = `localhost/agentfleet/rootfs:${request.rootfs.sha256.slice(0, 16)}`;
    const baseDockerfile = join(storage, 'Dockerfile');
    await writeFile(baseDockerfile, 'FROM scratch\nADD rootfs.tar /\n');
    const contextDir = dirname(request.rootfs.file);
    await buildah(buildArguments({ ref: base, dockerfile: baseDockerfile, contextDir, buildArgs: {} }));
    await buildah(buildArguments({ ...request, buildArgs: { ...request.buildArgs, BASE_IMAGE: base } }));
    await buildah(['push', '--quiet', request.ref, `docker-archive:${request.archive}:${request.ref}`]);
  } finally {
    await rm(storage, { recursive: true, force: true });
  }
}

type Buildah = (args: readonly string[]) => Promise<string>;

/** Opens overlay storage where the kernel and the file system support it, else plain copies. */
async function openStorage(storage: string, signal?: AbortSignal): Promise<Buildah> {
  const bind =
    (driver: string): Buildah =>
    (args) => {
      const options = ['--root', join(storage, `root-${driver}`), '--runroot', join(storage, `run-${driver}`), '--storage-driver', driver];
      return run('buildah', [...options, ...args], { signal });
    };
  const overlay = bind('overlay');
  return overlay(['info']).then(
    () => overlay,
    () => bind('vfs'),
  );
}
