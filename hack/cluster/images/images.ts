import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { cached, hashInputs } from '../../cache/index.ts';
import { moduleDir, type Binaries, type GoFacts } from '../build/binaries.ts';
import { family, familyVersion } from '../build/families.ts';
import { dockerArchive } from './archive.ts';

/** An image on disk, ready to be imported. */
export interface ImageArchive {
  readonly name: string;
  readonly path: string;
  /** Changes when, and only when, the content may have changed. */
  readonly key: string;
}

/** The sandbox image that containerd starts for every pod. */
export const pauseImage = 'localhost/agentfleet-pause:3.10';

/** Kind of the cache entries. */
export const imageCache = 'cluster-image';

const writerSources = ['archive.ts'].map((name) => fileURLToPath(new URL(name, import.meta.url)));
const probeSource = fileURLToPath(new URL('probe', import.meta.url));

async function archiveOf(
  image: { name: string; binary: string; architecture: string; user?: string },
  key: string,
  compile: (dir: string) => Promise<string>,
): Promise<ImageArchive> {
  const fullKey = `${image.binary}-${await hashInputs({ text: [image.name, image.architecture, key], paths: writerSources })}`;
  const { dir } = await cached(imageCache, fullKey, async (building) => {
    const content = await readFile(await compile(building));
    await writeFile(join(building, 'image.tar'), dockerArchive({ ...image, content }));
  });
  return { name: image.name, path: join(dir, 'image.tar'), key: fullKey };
}

/** The pause image, compiled from the source that Kubernetes ships. */
export async function pauseArchive(go: GoFacts): Promise<ImageArchive> {
  const version = await familyVersion(family('kubernetes'));
  const image = { name: pauseImage, binary: 'pause', architecture: go.GOARCH, user: '65535:65535' };
  return archiveOf(image, version, async (dir) => {
    const source = join(await moduleDir('kubernetes'), 'build', 'pause', 'linux', 'pause.c');
    const out = join(dir, 'pause');
    await execa('gcc', ['-Os', '-Wall', '-static', '-s', '-DVERSION=agentfleet', '-o', out, source]);
    return out;
  });
}

/** The CoreDNS image around our own binary. */
export async function corednsArchive(go: GoFacts, binaries: Binaries): Promise<ImageArchive> {
  const version = (await familyVersion(family('coredns'))).replace(/^v/, '');
  const binary = binaries.path('coredns');
  const image = { name: `localhost/agentfleet-coredns:${version}`, binary: 'coredns', architecture: go.GOARCH };
  return archiveOf(image, binary, () => Promise.resolve(binary));
}

/** The image whose one binary serves and dials TCP; `verifyCluster` runs it in pods. */
export async function probeArchive(go: GoFacts): Promise<ImageArchive> {
  const key = await hashInputs({ text: [go.GOVERSION], paths: [probeSource] });
  const image = { name: 'localhost/agentfleet-probe:1', binary: 'probe', architecture: go.GOARCH, user: '10001:10001' };
  return archiveOf(image, key, async (dir) => {
    const out = join(dir, 'probe');
    await execa('go', ['build', '-trimpath', '-ldflags=-s -w', '-o', out, '.'], { cwd: probeSource, env: { CGO_ENABLED: '0' } });
    return out;
  });
}
