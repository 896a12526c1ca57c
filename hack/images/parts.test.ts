import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { execa } from 'execa';
import { bundle, goInputs, hostArch, runnerBinary } from './parts.ts';
import { missingPrerequisites } from './prerequisites.ts';
import { selectImages } from './catalogue.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parts-'));
  vi.stubEnv('AGENTFLEET_CACHE', join(folder, 'cache'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

test('a bundle runs as a module, with require for packages that want it, and is the same twice', async () => {
  const entry = join(folder, 'entry.ts');
  await writeFile(
    entry,
    `import { hostname } from 'node:os';\nconst big: number = require('node:os').cpus().length;\nconsole.log(typeof hostname(), big > 0);\n`,
  );
  const first = await bundle('stand-in', entry);
  await writeFile(join(first.code.file, '..', 'package.json'), '{"type":"module"}');
  const { stdout } = await execa(process.execPath, [first.code.file]);
  expect(stdout).toBe('string true');
  expect(await bundle('stand-in', entry)).toEqual(first);
});

test('a missing entry is reported by its path in the repository', async () => {
  await expect(bundle('keeper', join(folder, 'main.ts'))).rejects.toThrow(/main\.ts: there is nothing to bundle for keeper/);
});

test('go inputs are sources and embedded files, not tests', async () => {
  await mkdir(join(folder, 'runner/internal/testdata'), { recursive: true });
  for (const file of ['go.mod', 'main.go', 'main_test.go', 'internal/a.go', 'internal/profile.json', 'internal/testdata/x', 'runner']) {
    await writeFile(join(folder, 'runner', file), '');
  }
  expect(await goInputs(join(folder, 'runner'))).toEqual(['go.mod', 'internal/a.go', 'internal/profile.json', 'main.go']);
});

test.each([
  ['amd64', 0x3e],
  ['arm64', 0xb7],
] as const)('the runner for %s is a static program of that machine', { timeout: 300_000 }, async (arch, machine) => {
  const head = (await readFile((await runnerBinary(arch)).file)).subarray(0, 4096);
  expect([head.toString('latin1', 0, 4), head.readUInt16LE(18)]).toEqual(['\x7fELF', machine]);
  // No program header asks for an interpreter.
  const types = Array.from({ length: head.readUInt16LE(56) }, (_, at) => head.readUInt32LE(64 + at * head.readUInt16LE(54)));
  expect(types).not.toContain(3);
});

test('an unknown machine is refused', () => {
  expect(hostArch('x64')).toBe('amd64');
  expect(() => hostArch('riscv64')).toThrow(/riscv64/);
});

test('a program is missing unless it is executable', async () => {
  await writeFile(join(folder, 'present'), '', { mode: 0o755 });
  await writeFile(join(folder, 'plain'), '', { mode: 0o644 });
  const wanted = ['present', 'plain', 'absent'].map((program) => ({ program, package: program }));
  const missing = missingPrerequisites(`/nonexistent::${folder}`, wanted);
  expect(missing.map(({ program }) => program)).toEqual(['plain', 'absent']);
});

test('an unknown image is refused with the known ones', () => {
  expect(() => selectImages(['base', 'nope'])).toThrow(/No image nope; there are base, sandbox, .*tools-busybox/);
  expect(selectImages(['tools']).map(({ name }) => name)).toEqual(['tools']);
});

test('an image for tests is built only when it is named', () => {
  expect(selectImages().map(({ name }) => name)).not.toContain('engine');
  expect(selectImages(['engine']).map(({ name }) => name)).toEqual(['engine']);
});
