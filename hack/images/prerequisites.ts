// hack, images: programs that a build of images needs. Of other folders imports hack/cache, hack/cluster/build.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run } from './run.ts';

/** A program that the pipeline needs, and the Debian package that has it. */
interface Prerequisite {
  readonly program: string;
  readonly package: string;
}

/** Programs needed besides Node and Go. */
export const prerequisites: readonly Prerequisite[] = [
  { program: 'buildah', package: 'buildah' },
  { program: 'mmdebstrap', package: 'mmdebstrap' },
  { program: 'strip', package: 'binutils' },
];

/** The prerequisites that no folder of `path` has as an executable file. */
export function missingPrerequisites(path: string, wanted: readonly Prerequisite[] = prerequisites): readonly Prerequisite[] {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  return wanted.filter(({ program }) => !folders.some((folder) => isExecutable(join(folder, program))));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Called right before something is made: a warm cache needs no program and no root. */
export type Prepare = () => Promise<void>;

/** For callers that know that the programs are installed. */
export const noPreparation: Prepare = () => Promise.resolve();

/** Installs missing programs with apt. Without root it reports in one sentence what to install. */
export async function ensurePrerequisites(signal?: AbortSignal): Promise<void> {
  if (process.getuid?.() !== 0) {
    throw new Error('Images are built by root, because mmdebstrap and buildah keep the owners of files: run this as root.');
  }
  const missing = missingPrerequisites(process.env['PATH'] ?? '');
  if (missing.length === 0) return;
  const packages = missing.map((entry) => entry.package);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['update', '-qq'], { env, signal });
  await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], { env, signal });
}
