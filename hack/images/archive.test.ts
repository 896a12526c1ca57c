import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pack } from 'tar-stream';
import { expect, test } from 'vitest';
import { parseManifest, summarizeArchive } from './archive.ts';

const digest = 'a'.repeat(64);
const manifest = JSON.stringify([{ Config: `${digest}.json`, RepoTags: ['x:1'], Layers: ['one.tar', 'two.tar'] }]);

test('the digest is the name of the configuration', () => {
  expect(parseManifest(manifest)).toEqual({ digest: `sha256:${digest}`, layers: ['one.tar', 'two.tar'] });
});

test.each(['[]', '[{"Config":"config.json","Layers":[]}]', `[${manifest.slice(1, -1)},${manifest.slice(1)}`])('refuses %s', (text) => {
  expect(() => parseManifest(text)).toThrow(/exactly one image/);
});

test('sums the layers of the image and nothing else', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'archive-'));
  const tar = pack();
  tar.entry({ name: 'one.tar' }, Buffer.alloc(100_000));
  tar.entry({ name: 'two.tar' }, Buffer.alloc(50_000));
  tar.entry({ name: 'other.tar' }, Buffer.alloc(10_000));
  tar.entry({ name: 'manifest.json' }, manifest);
  tar.finalize();
  await pipeline(tar, createWriteStream(join(folder, 'image.tar')));
  const plain = await summarizeArchive(join(folder, 'image.tar'));
  const compressed = await summarizeArchive(join(folder, 'image.tar'), true);
  await rm(folder, { recursive: true });
  expect(plain).toEqual({ digest: `sha256:${digest}`, layerBytes: 150_000, compressedBytes: 0 });
  expect(compressed.compressedBytes).toBeGreaterThan(0);
  expect(compressed.compressedBytes).toBeLessThan(1_000);
});
