// A release into an OCI registry on this machine: small images and the real chart are pushed, and pulled back by their digests.
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { execa } from 'execa';
import { load, loadAll } from 'js-yaml';
import { pack } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostArch } from '../../hack/images/parts.ts';
import { startRegistry } from '../../hack/release/localRegistry.ts';
import { pinned, type Source } from '../../hack/release/documents.ts';
import { Registry, registryPrograms, type Built, type RegistryPrograms } from '../../hack/release/registry.ts';
import { architectures, release, releasedImages, type Released } from '../../hack/release/release.ts';

const version = '0.1.0-rc.1';
const source: Source = { version, commit: 'c0ffee', date: '2030-01-01T00:00:00Z', locks: {} };
const allowed = { licences: ['MIT'], vulnerabilities: [] };

let folder: string;
let programs: RegistryPrograms;
let stop: () => void = () => {};
let registry: Registry;
let address: string;
let released: Released;

async function tar(files: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  const archive = pack();
  for (const [name, content] of Object.entries(files)) archive.entry({ name, mtime: new Date(0) }, content);
  archive.finalize();
  return buffer(archive);
}

const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');

/** A docker-archive of one layer, as our builder and `docker save` write it. */
async function archiveOf(name: string): Promise<Built> {
  const layer = await tar({
    [`opt/agentfleet/${name}.LICENSES`]: `left-pad 1.0.0 (MIT)\n\ntext of ${name}\n`,
    'var/lib/dpkg/status.d/libc6': 'Package: libc6\nVersion: 2.41-12\n',
    'usr/local/bin/node': 'no program',
  });
  const config = { architecture: hostArch(), os: 'linux', config: {}, rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] } };
  const text = JSON.stringify(config);
  const manifest = [{ Config: `${sha256(text)}.json`, RepoTags: [], Layers: ['layer.tar'] }];
  const archive = join(folder, `${name}.tar`);
  await writeFile(archive, await tar({ 'manifest.json': JSON.stringify(manifest), [`${sha256(text)}.json`]: text, 'layer.tar': layer }));
  return { name, archive };
}

const publish = async (): Promise<Released> => {
  const images = await Promise.all(releasedImages.map(archiveOf));
  return release({ version, registry, images, source, allowed, out: join(folder, 'out'), builder: 'urn:test' });
};
const written = async (name: string): Promise<unknown> => JSON.parse(await readFile(join(folder, 'out', name), 'utf8'));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'release-test-'));
  programs = await registryPrograms();
  const local = await startRegistry();
  stop = () => local.stop();
  address = `${local.address}/fleet`;
  registry = new Registry({ programs, address, plainHttp: true });
  released = await publish();
}, 300_000);
afterAll(async () => {
  stop();
  await rm(folder, { recursive: true });
});

describe('a release', () => {
  it('ends before it has a version when a licence is not allowed', async () => {
    const images = [await archiveOf('operator')];
    const other = { version: '0.1.0-rc.2', registry, images, source, out: folder, builder: 'urn:test' };
    await expect(release({ ...other, allowed: { licences: [], vulnerabilities: [] } })).rejects.toThrow('left-pad 1.0.0 in operator: MIT');
    expect(await registry.find('operator', '0.1.0-rc.2')).toBeUndefined();
  });

  it('has each image under its digest, for the architecture that was built, and no other bytes', async () => {
    expect(released.licences.outcome).toBe('Passed');
    expect(released.images.map(({ name }) => name)).toEqual([...releasedImages]);
    for (const { repository, digest } of released.images) {
      const index = await registry.manifest(`${repository}@${digest}`);
      expect(index).toMatchObject({ manifests: [{ platform: { architecture: hostArch(), os: 'linux' } }] });
      const other = `sha256:${'0'.repeat(64)}`;
      await expect(registry.manifest(`${repository}@${other}`)).rejects.toThrow(/MANIFEST_UNKNOWN/);
    }
  });

  it('joins images of its own commit only, and names the machine that has to push again', async () => {
    const other = architectures.find((arch) => arch !== hostArch())!;
    const of = (name: string): object => ({ version: `0.1.0-rc.${name}`, registry, allowed, out: folder, builder: 'urn:test' });
    const built = await archiveOf('operator');
    const make = (name: string, commit: string): Promise<Released> =>
      release({ ...(of(name) as Parameters<typeof release>[0]), images: [built], source: { ...source, commit } });
    await registry.pushImage(built, `0.1.0-rc.3-${other}-beef`);
    await expect(make('3', 'c0ffee')).rejects.toThrow(new RegExp(`${other}.*beef.*c0ffee.*--images-only`));
    expect(await registry.find('operator', '0.1.0-rc.3')).toBeUndefined();
    await registry.pushImage(built, `0.1.0-rc.3-${other}-c0ffee`);
    const [joined] = (await make('3', 'c0ffee')).images;
    expect(await registry.manifest(pinned(joined!))).toMatchObject({ manifests: [{}, {}] });
  });

  it('is the same when it is made again', async () => {
    const again = await publish();
    expect(again.images).toEqual(released.images);
  });

  it('has a chart that names these digests, and is installed without a value; its definitions are one of their own', async () => {
    for (const [at, { repository, digest }] of released.charts.entries()) {
      const pulled = ['pull', `oci://${repository}`, '--version', version, '--plain-http', '--destination', folder];
      const { all } = await execa(programs.helm, pulled, { all: true });
      const name = ['agentfleet', 'agentfleet-crds'][at]!;
      expect(all).toContain((await registry.find(`charts/${name}`, version)) ?? 'nothing');
      expect(digest).toMatch(/^sha256:/);
      const { stdout } = await execa(programs.helm, ['show', 'chart', join(folder, `${name}-${version}.tgz`)]);
      expect(load(stdout)).toMatchObject({ name, version, appVersion: version });
    }
    const rendered = async (name: string, ...more: readonly string[]): Promise<readonly { readonly kind: string }[]> => {
      const args = ['template', 'agentfleet', join(folder, `${name}-${version}.tgz`), '--namespace=agentfleet-system', ...more];
      return loadAll((await execa(programs.helm, args)).stdout) as { readonly kind: string }[];
    };
    const all = await rendered('agentfleet');
    const used = all.flatMap((manifest) => JSON.stringify(manifest).match(/127\.0\.0\.1:[^"]*@sha256:[0-9a-f]{64}/g) ?? []);
    expect(new Set(used)).toEqual(new Set(released.images.map((image) => `${image.repository}@${image.digest}`)));
    const definitions = all.filter(({ kind }) => kind === 'CustomResourceDefinition');
    expect(await rendered('agentfleet-crds')).toEqual(definitions);
    expect(await rendered('agentfleet', '--set=crds.install=false')).toEqual(all.filter((one) => !definitions.includes(one)));
  });

  it('has the content of each image, its origin, and how to sign it', async () => {
    const [operator] = released.images;
    expect(await written('operator.spdx.json')).toMatchObject({
      spdxVersion: 'SPDX-2.3',
      packages: [{ name: operator!.repository }, { name: 'libc6' }, { name: 'node' }, { name: 'left-pad', licenseDeclared: 'MIT' }],
    });
    expect(await written('operator.intoto.json')).toMatchObject({
      subject: [{ digest: { sha256: operator!.digest.slice('sha256:'.length) } }],
      predicate: await written('operator.provenance.json'),
    });
    expect(await readFile(join(folder, 'out', 'sign.sh'), 'utf8')).toContain(
      `cosign sign --yes ${operator!.repository}@${operator!.digest}`,
    );
    expect(await readFile(join(folder, 'out', 'licences.md'), 'utf8')).toContain('| left-pad | 1.0.0 | MIT | operator, agent,');
  });
});
