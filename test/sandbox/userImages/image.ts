import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import type { Cluster } from '../../../hack/cluster/index.ts';
import { findMissingPackages, installPackages } from '../../../hack/cluster/index.ts';
import { tar, type TarFile } from '../../../hack/cluster/images/archive.ts';
import { hostArch } from '../../../hack/images/index.ts';

/** An image's configuration by its author, in the terms of OCI. */
interface ImageConfig {
  readonly User?: string;
  readonly Entrypoint?: readonly string[];
  readonly Volumes?: Readonly<Record<string, object>>;
  readonly WorkingDir?: string;
  readonly Env?: readonly string[];
}

const folder = fileURLToPath(new URL('.', import.meta.url));
const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

/** Imports an image of only these files into the node; its name changes with its content. */
export async function importImage(cluster: Cluster, kind: string, files: readonly TarFile[], config: ImageConfig): Promise<string> {
  const layer = tar(files);
  const whole = {
    architecture: hostArch(),
    os: 'linux',
    created: new Date(0).toISOString(),
    config,
    rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
  };
  const text = Buffer.from(JSON.stringify(whole));
  const ref = `localhost/agentfleet/user-${kind}:${sha256(text).slice(0, 16)}`;
  const manifest = Buffer.from(JSON.stringify([{ Config: `${sha256(text)}.json`, RepoTags: [ref], Layers: ['layer.tar'] }]));
  const parts = { 'manifest.json': manifest, [`${sha256(text)}.json`]: text, 'layer.tar': layer };
  const place = await mkdtemp(join(tmpdir(), 'user-image-'));
  try {
    const archive = join(place, 'image.tar');
    await writeFile(archive, tar(Object.entries(parts).map(([name, content]) => ({ name, content, mode: 0o644 }))));
    await cluster.importImage(archive);
  } finally {
    await rm(place, { recursive: true });
  }
  return ref;
}

/** A static program that tries things; see its own words. */
export async function tryer(): Promise<Buffer> {
  return made('tryer', (out) =>
    execa('go', ['build', '-trimpath', '-ldflags=-s -w', '-o', out, '.'], { cwd: join(folder, 'tryer'), env: { CGO_ENABLED: '0' } }),
  );
}

/** Files of an image whose only C library is musl: its loader, a program that needs it, and a shell that needs nothing. */
export async function muslFiles(): Promise<readonly TarFile[]> {
  await installPackages(await findMissingPackages(['musl-tools', 'busybox-static']), () => undefined);
  const machine = hostArch() === 'arm64' ? 'aarch64' : 'x86_64';
  const hello = await made('hello', (out) => execa('musl-gcc', ['-Os', '-s', '-o', out, join(folder, 'hello.c')]));
  const busybox = await readFile('/bin/busybox');
  const loader = await readFile(`/lib/ld-musl-${machine}.so.1`);
  return [
    { name: `lib/ld-musl-${machine}.so.1`, content: loader, mode: 0o755 },
    { name: 'usr/bin/hello', content: hello, mode: 0o755 },
    ...['sh', 'cat', 'ls'].map((name) => ({ name: `bin/${name}`, content: busybox, mode: 0o755 })),
  ];
}

async function made(name: string, make: (out: string) => Promise<unknown>): Promise<Buffer> {
  const place = await mkdtemp(join(tmpdir(), `${name}-`));
  try {
    await make(join(place, name));
    return await readFile(join(place, name));
  } finally {
    await rm(place, { recursive: true });
  }
}
