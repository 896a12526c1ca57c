import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { failureOf, imageKey, stageContext } from './build.ts';
import { selectImages } from './catalogue.ts';
import { PartUnavailable } from './run.ts';

const inputs = {
  name: 'sandbox',
  dockerfile: 'FROM scratch\n',
  version: '0.1.0',
  arch: 'amd64',
  rootfsSha256: 'a'.repeat(64),
  context: [
    { path: 'dist/keeper.js', mode: 0o644, sha256: 'b'.repeat(64) },
    { path: 'dist/amd64/node', mode: 0o755, sha256: 'c'.repeat(64) },
  ],
};

test('the key does not depend on the order of the context', async () => {
  expect(await imageKey({ ...inputs, context: inputs.context.toReversed() })).toBe(await imageKey(inputs));
});

test.each([
  ['name', { name: 'tools' }],
  ['Dockerfile', { dockerfile: 'FROM scratch\nUSER 1\n' }],
  ['version', { version: '0.1.1' }],
  ['architecture', { arch: 'arm64' }],
  ['root file system', { rootfsSha256: 'd'.repeat(64) }],
  ['content of a file', { context: [{ path: 'dist/keeper.js', mode: 0o644, sha256: 'e'.repeat(64) }, inputs.context[1]!] }],
  ['mode of a file', { context: [{ path: 'dist/keeper.js', mode: 0o755, sha256: 'b'.repeat(64) }, inputs.context[1]!] }],
  ['path of a file', { context: [{ path: 'dist/k.js', mode: 0o644, sha256: 'b'.repeat(64) }, inputs.context[1]!] }],
  ['number of files', { context: inputs.context.slice(1) }],
])('the key changes with the %s', async (_, change) => {
  expect(await imageKey({ ...inputs, ...change })).not.toBe(await imageKey(inputs));
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'images-'));
});
afterEach(() => rm(folder, { recursive: true }));

test('staged files have their mode, not that of their source', async () => {
  await writeFile(join(folder, 'source'), 'x', { mode: 0o600 });
  await stageContext([{ path: 'dist/amd64/node', file: join(folder, 'source'), sha256: '', mode: 0o755 }], folder);
  expect(await readFile(join(folder, 'dist/amd64/node'), 'utf8')).toBe('x');
  expect((await stat(join(folder, 'dist/amd64/node'))).mode & 0o7777).toBe(0o755);
});

describe('an unavailable part', () => {
  const reason = new PartUnavailable('pip cannot download it', new Error('no index'));
  const [sandbox, llama] = selectImages(['sandbox', 'inference-llama']);

  test('leaves out an optional image, and reports it', () => {
    const warn = vi.fn<(message: string) => void>();
    expect(failureOf(llama, reason, { warn })).toEqual([]);
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/inference-llama: pip cannot download it\n {2}no index\n.*left out: experts/s)],
    ]);
  });

  test('is a failure of any other image, and so is a fault of an optional one', () => {
    const warn = vi.fn<(message: string) => void>();
    expect(failureOf(sandbox, reason, { warn })).toEqual(['image sandbox: pip cannot download it\n  no index']);
    expect(failureOf(llama, new Error('its sha256 is another'), { warn })).toEqual(['image inference-llama: its sha256 is another']);
    expect(warn).not.toHaveBeenCalled();
  });
});
