// The image of the tools with agent programs in it, installed from their public packages.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { cached, hashInputs } from '../../../hack/cache/index.ts';
import type { Cluster } from '../../../hack/cluster/index.ts';
import { buildImages } from '../../../hack/images/index.ts';

/** Where the programs lie in the image. */
export const programs = '/opt/programs';

const requirements = join(import.meta.dirname, '../../../hack/eval/peers/mini-swe-agent.txt');

/** What mini-swe-agent needs for its benchmarks only. */
const unused = /^(?:pyarrow|pandas|numpy|datasets|boto3|botocore|s3transfer)==/;

/** The Python of the tools image: compiled packages are of one version. */
const python = '3.13';

/** Installs the programs into the cache, once, and imports an image with them into the node. @param packages of npm, with versions */
export async function imageWithPrograms(cluster: Cluster, packages: readonly string[]): Promise<string> {
  const key = await hashInputs({ text: packages, paths: [import.meta.filename, requirements] });
  const [tools] = await buildImages(['tools']);
  const { dir } = await cached('programs', key, (place) => layer(place, packages));
  return importOnto(cluster, tools?.archive ?? '', join(dir, 'layer.tar'));
}

/** One layer with a `bin` folder as an installation below a prefix has it. */
async function layer(place: string, packages: readonly string[]): Promise<void> {
  const root = join(place, 'root');
  const top = join(root, programs);
  await mkdir(join(top, 'bin'), { recursive: true });
  await execa('npm', ['install', '--global', '--prefix', top, '--no-audit', '--no-fund', ...packages]);
  const needed = (await readFile(requirements, 'utf8')).split('\n').filter((line) => line !== '' && !unused.test(line));
  const how = ['--quiet', '--no-deps', '--only-binary=:all:', `--python-version=${python}`, `--target=${top}/python`];
  await execa('python3', ['-m', 'pip', 'install', ...how, ...needed]);
  const start = `#!/bin/sh\nPYTHONPATH=${programs}/python exec python3 -m minisweagent.run.mini "$@"\n`;
  await writeFile(join(top, 'bin', 'mini'), start, { mode: 0o755 });
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--mtime=@0', '--sort=name'];
  await execa('tar', ['-C', root, ...owner, '-cf', join(place, 'layer.tar'), 'opt']);
  await rm(root, { recursive: true });
}

interface ImageText {
  readonly rootfs: { readonly type: string; readonly diff_ids: readonly string[] };
  readonly history?: unknown;
}

/** Adds a layer to a docker-archive and imports it under a name of its own. */
async function importOnto(cluster: Cluster, archive: string, added: string): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), 'programs-image-'));
  try {
    await execa('tar', ['-C', place, '-xf', archive]);
    const [base] = JSON.parse(await readFile(join(place, 'manifest.json'), 'utf8')) as { Config: string; Layers: string[] }[];
    if (base === undefined) throw new Error(`${archive} holds no image`);
    const { history: _, ...config } = JSON.parse(await readFile(join(place, base.Config), 'utf8')) as ImageText;
    const sum = (await execa('sha256sum', [added])).stdout.slice(0, 64);
    const diffs = [...config.rootfs.diff_ids, `sha256:${sum}`];
    const text = JSON.stringify({ ...config, rootfs: { type: 'layers', diff_ids: diffs } });
    const name = createHash('sha256').update(text).digest('hex');
    const ref = `localhost/agentfleet/programs:${name.slice(0, 16)}`;
    await execa('cp', ['--reflink=auto', added, join(place, 'programs.tar')]);
    await writeFile(join(place, `${name}.json`), text);
    const manifest = [{ Config: `${name}.json`, RepoTags: [ref], Layers: [...base.Layers, 'programs.tar'] }];
    await writeFile(join(place, 'manifest.json'), JSON.stringify(manifest));
    const whole = ['manifest.json', `${name}.json`, ...new Set(base.Layers), 'programs.tar'];
    await execa('tar', ['-C', place, '--dereference', '-cf', join(place, 'image.tar'), ...whole]);
    await cluster.importImage(join(place, 'image.tar'));
    return ref;
  } finally {
    await rm(place, { recursive: true });
  }
}
