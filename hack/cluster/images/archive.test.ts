import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { dockerArchive, tar } from './archive.ts';

const image = { name: 'localhost/probe:1', binary: 'probe', content: Buffer.from('\x7fELF not really'), architecture: 'amd64' };

/** Reads with the system's tar, so that writer and reader share no mistake. */
function extract(archive: Buffer, member: string): Buffer {
  return execFileSync('tar', ['-xOf', '-', member], { input: archive });
}

describe('dockerArchive', () => {
  it('gives the same bytes for the same input, and others for another', () => {
    expect(dockerArchive(image).equals(dockerArchive({ ...image }))).toBe(true);
    expect(dockerArchive(image).equals(dockerArchive({ ...image, content: Buffer.from('other') }))).toBe(false);
  });

  it('names the config and the layer by their content', () => {
    const archive = dockerArchive(image);
    const [manifest] = JSON.parse(extract(archive, 'manifest.json').toString()) as [
      { Config: string; RepoTags: string[]; Layers: string[] },
    ];
    expect(manifest.RepoTags).toEqual(['localhost/probe:1']);
    const config = extract(archive, manifest.Config);
    expect(manifest.Config).toBe(`${createHash('sha256').update(config).digest('hex')}.json`);
    const layer = extract(archive, manifest.Layers[0] ?? '');
    const { rootfs, config: run } = JSON.parse(config.toString()) as { rootfs: { diff_ids: string[] }; config: { Entrypoint: string[] } };
    expect(rootfs.diff_ids).toEqual([`sha256:${createHash('sha256').update(layer).digest('hex')}`]);
    expect(run.Entrypoint).toEqual(['/probe']);
    expect(extract(layer, 'probe').equals(image.content)).toBe(true);
  });
});

describe('tar', () => {
  it('keeps modes and sizes, also at block borders', () => {
    const archive = tar([0, 511, 512, 513].map((size) => ({ name: `f${size}`, content: Buffer.alloc(size, 1), mode: 0o755 })));
    const listing = execFileSync('tar', ['-tvf', '-'], { input: archive }).toString().trim().split('\n');
    expect(listing.map((line) => line.split(/\s+/).slice(0, 3).join(' '))).toEqual([0, 511, 512, 513].map((n) => `-rwxr-xr-x 0/0 ${n}`));
  });

  it('refuses a name that ustar cannot hold', () => {
    expect(() => tar([{ name: 'x'.repeat(101), content: Buffer.alloc(0), mode: 0 }])).toThrow(/too long/);
  });
});
