import { copyFile, cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { cached } from '../cache/index.ts';
import type { BuiltImage } from '../images/build.ts';
import { repository as root } from '../images/parts.ts';
import { releasedImages } from './release.ts';

/**
 * The version that upgrades are tried from: the last one whose pools have `spec.rollout`, before there was the kind RolloutPolicy.
 * Its definitions, chart, operator, workers and keepers are all older.
 */
export const previousCommit = '400fd882218aad03d0efb073d9bf9a13a8416406';

/** An older version, built from its own sources by its own programs. */
export interface Previous {
  /** Folder of its chart. */
  readonly chart: string;
  /** Reference and docker-archive of each image, by name. */
  readonly images: Readonly<Record<string, { readonly ref: string; readonly archive: string }>>;
}

type BuiltBefore = Pick<BuiltImage, 'name' | 'ref' | 'archive'>;

/** Builds the older version from the history of this repository, or takes it from the cache. Rejects in a shallow clone. */
export async function previousVersion(): Promise<Previous> {
  const { dir } = await cached('previous', previousCommit, async (target) => {
    const sources = join(target, 'sources');
    await execa('sh', ['-c', 'mkdir "$2" && git archive "$1" | tar -x -C "$2"', 'sh', previousCommit, sources], { cwd: root }).catch(
      (error: unknown) => {
        throw new Error(`the commit ${previousCommit} is not in this clone; fetch the whole history: git fetch --unshallow`, {
          cause: error,
        });
      },
    );
    const build = ['hack/bootstrap.mjs', 'hack/images/main.ts', 'build', '--json', ...releasedImages];
    const { stdout } = await execa(process.execPath, build, { cwd: sources, stderr: 'inherit' });
    const built = JSON.parse(stdout) as readonly BuiltBefore[];
    for (const { name, archive } of built) await copyFile(archive, join(target, `${name}.tar`));
    await writeFile(join(target, 'images.json'), JSON.stringify(Object.fromEntries(built.map(({ name, ref }) => [name, ref]))));
    await cp(join(sources, 'charts/agentfleet'), join(target, 'agentfleet'), { recursive: true });
    await rm(sources, { recursive: true });
  });
  const refs = JSON.parse(await readFile(join(dir, 'images.json'), 'utf8')) as Readonly<Record<string, string>>;
  const images = Object.fromEntries(Object.entries(refs).map(([name, ref]) => [name, { ref, archive: join(dir, `${name}.tar`) }]));
  return { chart: join(dir, 'agentfleet'), images };
}
