import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { importWorkspace } from './import.ts';
import { importPlace, type ImportPlace } from './testing/folderKeeper.ts';

let dir: string;
let ports: ImportPlace;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'import-'));
  ports = await importPlace(dir);
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

const inline = (...files: { path: string; content: string; mode: number }[]) => ({ type: 'Inline' as const, inline: { files } });

describe('inline files', () => {
  test('come with their folders, content and mode', async () => {
    const files = [
      { path: 'src/deep/run.sh', content: '#!/bin/sh\necho ü\n', mode: 0o755 },
      { path: 'empty', content: '', mode: 0o600 },
      { path: `${'long/'.repeat(40)}name`, content: 'x', mode: 0o644 },
    ];
    const imported = await importWorkspace(inline(...files), ports);
    expect(imported).toEqual({ files: 3, bytes: 19 });
    expect(ports.keeper.path).toBe('/workspace');
    expect(await ports.keeper.files()).toEqual(Object.fromEntries(files.map(({ path, content }) => [path, content])));
    expect((await stat(join(ports.keeper.folder, 'src/deep/run.sh'))).mode & 0o777).toBe(0o755);
    expect((await stat(join(ports.keeper.folder, 'empty'))).mode & 0o777).toBe(0o600);
    expect(await readdir(ports.scratch)).toEqual([]);
  });

  test('a file that is also a folder is refused by name', async () => {
    const workspace = inline({ path: 'a', content: '', mode: 0o644 }, { path: 'a/b', content: '', mode: 0o644 });
    await expect(importWorkspace(workspace, ports)).rejects.toMatchObject({ failureClass: 'InvalidInput', reason: 'PathConflict' });
  });

  test('too much is refused before it is sent', async () => {
    const workspace = inline({ path: 'a', content: 'x'.repeat(100), mode: 0o644 });
    const failing = importWorkspace(workspace, { ...ports, limitBytes: 99 });
    await expect(failing).rejects.toMatchObject({ failureClass: 'InvalidInput', reason: 'WorkspaceTooLarge' });
    expect(await ports.keeper.files()).toEqual({});
  });
});

describe('a ConfigMap', () => {
  const workspace = { type: 'ConfigMap' as const, configMap: { name: 'sources' } };

  test('gives a file for each key', async () => {
    const imported = await importWorkspace(workspace, { ...ports, readConfigMap: () => Promise.resolve({ 'b.py': 'b = 1\n', a: '' }) });
    expect(imported).toEqual({ files: 2, bytes: 6 });
    expect(await ports.keeper.files()).toEqual({ a: '', 'b.py': 'b = 1\n' });
  });

  test('one that is not there is the fault of the task, one that cannot be read is not', async () => {
    await expect(importWorkspace(workspace, ports)).rejects.toMatchObject({ failureClass: 'InvalidInput', reason: 'ConfigMapNotFound' });
    const broken = { ...ports, readConfigMap: () => Promise.reject(new Error('connection reset')) };
    await expect(importWorkspace(workspace, broken)).rejects.toMatchObject({
      failureClass: 'Infrastructure',
      reason: 'ConfigMapUnreadable',
    });
  });
});

test('the refusal of the keeper is passed on unchanged, and the transfer ends', async () => {
  const refusal = new Error('AF_QUOTA_EXCEEDED');
  const refusing = { writeTree: () => Promise.reject(refusal) };
  const files = inline({ path: 'a', content: 'x'.repeat(200_000), mode: 0o644 }, { path: 'b', content: 'x'.repeat(200_000), mode: 0o644 });
  await expect(importWorkspace(files, { ...ports, keeper: refusing })).rejects.toBe(refusal);
  expect(await readdir(ports.scratch)).toEqual([]);
});

test('an aborted import reports the reason of the abort', async () => {
  const stop = new AbortController();
  stop.abort('Lost');
  await expect(importWorkspace(inline(), { ...ports, signal: stop.signal })).rejects.toBe('Lost');
});
