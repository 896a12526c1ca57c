import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Program } from './base/program.ts';
import { encodeRecords, setMetaByRunner } from './base/xattrs.ts';
import { Harness } from './testing/harness.ts';

const RUNNER = fileURLToPath(new URL('../../../runner', import.meta.url));

test('records are NUL-terminated fields with the path as raw bytes', () => {
  const records = [{ path: Buffer.from([0x61, 0xff]), mtimeNs: -1n }];
  expect(encodeRecords(records)).toEqual(Buffer.from([0x2d, 0x31, 0, 0x61, 0xff, 0]));
});

test('a program that cannot be started, or fails, is an error', async () => {
  await expect(setMetaByRunner(new Program('/nonexistent'))('/', [])).rejects.toThrow('ENOENT');
  await expect(setMetaByRunner(new Program('/bin/false'))('/', [])).rejects.toThrow('ended before it answered');
});

test('the real runner sets times exactly, and a restore by it verifies', { timeout: 120_000 }, async (context) => {
  const harness = new Harness();
  const binary = join(harness.dir, 'runner');
  try {
    const built = spawnSync('go', ['build', '-o', binary, '.'], { cwd: RUNNER, env: { ...process.env, CGO_ENABLED: '0' } });
    if (built.status !== 0) {
      console.warn('SKIPPED: the runner cannot be built here');
      context.skip();
    }
    const engine = await harness.engine({ setMeta: setMetaByRunner(new Program(binary)) });
    fs.mkdirSync(join(harness.workspace, 'dir'));
    fs.writeFileSync(join(harness.workspace, 'dir', 'file'), '1');
    fs.symlinkSync('nowhere', join(harness.workspace, 'link'));
    await engine.take();
    const before = harness.describe();
    fs.rmSync(join(harness.workspace, 'dir'), { recursive: true });
    fs.rmSync(join(harness.workspace, 'link'));
    await engine.restore('s0001');
    expect(harness.describe()).toEqual(before);
  } finally {
    await harness.dispose();
  }
});
