import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { judgeFlakes, maxFlakes, readFlakes } from './flakes.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flakes-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs one file of tests as a stage does; its tests may write beside it. */
async function runTests(text: string): Promise<{ readonly exitCode: number | undefined; readonly flakes: readonly string[] }> {
  await writeFile(join(folder, 'a.test.mjs'), text);
  await writeFile(join(folder, 'none.mjs'), 'export default {};');
  const report = join(folder, 'flakes.json');
  const vitest = resolve('node_modules/vitest/vitest.mjs');
  const argv = [
    'run',
    '--root',
    folder,
    '--config',
    'none.mjs',
    '--globals',
    '--retry=1',
    `--reporter=${resolve('hack/test/flakeReporter.ts')}`,
  ];
  const { exitCode } = await execa(process.execPath, [vitest, ...argv], { reject: false, env: { AGENTFLEET_FLAKES: report } });
  return { exitCode, flakes: await readFlakes(report) };
}

describe('tests that pass only at the second try', () => {
  test('are told apart from those that pass and those that fail', async () => {
    const imports = `import { appendFileSync, readFileSync } from 'node:fs';`;
    const flaky = `test('late', () => { appendFileSync(${JSON.stringify(join(folder, 'tries'))}, 'x'); expect(readFileSync(${JSON.stringify(join(folder, 'tries'))}, 'utf8')).toBe('xx'); });`;
    const good = `test('good', () => { expect(1).toBe(1); });`;
    expect(await runTests(`${imports}\n${good}\n${flaky}`)).toEqual({
      exitCode: 0,
      flakes: ["a.test.mjs > late: expected 'x' to be 'xx' // Object.is equality"],
    });
    const bad = `test('bad', () => { appendFileSync(${JSON.stringify(join(folder, 'bad'))}, 'x'); expect(1).toBe(2); });`;
    expect(await runTests(`${imports}\n${good}\n${bad}`)).toEqual({ exitCode: 1, flakes: [] });
    expect(await readFile(join(folder, 'bad'), 'utf8')).toBe('xx');
  });

  test('are named, and fail the run when they are many', () => {
    const names = Array.from({ length: maxFlakes }, (_, index) => `test ${index}`);
    expect(judgeFlakes(names)).toMatchObject({ tooMany: false });
    expect(judgeFlakes(names).lines[0]).toContain('test 0');
    expect(judgeFlakes([...names, 'one more']).tooMany).toBe(true);
    expect(judgeFlakes([])).toEqual({ lines: [], tooMany: false });
  });
});
