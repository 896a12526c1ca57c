import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeEnd, maxFlakes, readReport, type StageReport } from './report.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'stage-report-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Runs files of tests, by name, as a stage does; they may write beside them. */
async function runTests(
  files: Readonly<Record<string, string>>,
): Promise<{ readonly exitCode: number | undefined; readonly report: StageReport }> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, `${name}.test.mjs`), text);
  await writeFile(join(folder, 'config.mjs'), 'export default {};');
  const path = join(folder, 'report.json');
  const vitest = resolve('node_modules/vitest/vitest.mjs');
  const reporter = `--reporter=${resolve('hack/test/stageReporter.ts')}`;
  const argv = ['run', '--root', folder, '--config', 'config.mjs', '--globals', '--retry=1', reporter];
  const env = { AGENTFLEET_STAGE_REPORT: path };
  const { exitCode } = await execa(process.execPath, [vitest, ...argv], { reject: false, env });
  return { exitCode, report: await readReport(path) };
}

describe('the report of a stage', () => {
  test('distinguishes tests that pass only at the second try from those that pass and those that fail', async () => {
    const imports = `import { appendFileSync, readFileSync } from 'node:fs';`;
    const flaky = `test('late', () => { appendFileSync(${JSON.stringify(join(folder, 'tries'))}, 'x'); expect(readFileSync(${JSON.stringify(join(folder, 'tries'))}, 'utf8')).toBe('xx'); });`;
    const good = `test('good', () => { expect(1).toBe(1); });`;
    expect(await runTests({ a: `${imports}\n${good}\n${flaky}` })).toEqual({
      exitCode: 0,
      report: { flaky: ["a.test.mjs > late: expected 'x' to be 'xx' // Object.is equality"], failed: [] },
    });
    const bad = `describe('outer', () => { test('bad', () => { appendFileSync(${JSON.stringify(join(folder, 'bad'))}, 'x'); expect(1).toBe(2); }); });`;
    const { exitCode, report } = await runTests({ a: `${imports}\n${good}\n${bad}` });
    expect({ exitCode, flaky: report.flaky, names: report.failed.map(({ name }) => name) }).toEqual({
      exitCode: 1,
      flaky: [],
      names: ['a.test.mjs > outer > bad'],
    });
    const tries = report.failed[0]?.lines.filter((line) => line === 'AssertionError: expected 1 to be 2 // Object.is equality');
    expect(tries).toHaveLength(2);
    expect(report.failed[0]?.lines.join('\n')).toMatch(/^at .*a\.test\.mjs:\d+:\d+$/m);
    expect(await readFile(join(folder, 'bad'), 'utf8')).toBe('xx');
  });

  test('names hooks, files and rejections that fail a run in which no test fails', async () => {
    const { exitCode, report } = await runTests({
      file: `throw new Error('of file');`,
      hook: `afterAll(() => { throw new Error('of hook'); }); test('good', () => {});`,
      suite: `describe('outer', () => { beforeAll(() => { throw new Error('of suite'); }); test('good', () => {}); });`,
      void: `test('good', async () => { void Promise.reject(new Error('of void')); await new Promise((resolve) => setTimeout(resolve, 50)); });`,
    });
    expect(exitCode).toBe(1);
    expect(Object.fromEntries(report.failed.map(({ name, lines }) => [lines[0], name]))).toEqual({
      'Error: of file': 'file.test.mjs (the file or its hooks)',
      'Error: of hook': 'hook.test.mjs (the file or its hooks)',
      'Error: of suite': 'suite.test.mjs > outer (a hook)',
      'Error: of void': expect.stringMatching(/^an error that nothing awaited, while .*void\.test\.mjs ran/) as string,
    });
  });
});

describe('the end of a run', () => {
  const none: StageReport = { flaky: [], failed: [] };

  test('names flaky tests, and fails when they are many', () => {
    const names = Array.from({ length: maxFlakes }, (_, index) => `test ${index}`);
    const end = (flaky: readonly string[]): ReturnType<typeof describeEnd> =>
      describeEnd([{ name: 'unit', passed: true, report: { ...none, flaky } }]);
    expect(end(names)).toMatchObject({ tooMany: false });
    expect(end(names).lines[0]).toContain('test 0');
    expect(end([...names, 'one more']).tooMany).toBe(true);
    expect(end([])).toEqual({ lines: [], tooMany: false });
  });

  test('names every failure with its stage and its error, and a stage that failed without one', () => {
    const failed = [{ name: 'a.test.ts > bad', lines: ['Error: no', 'at a.test.ts:1:1'] }];
    const { lines } = describeEnd([
      { name: 'check', passed: false, report: none },
      { name: 'unit', passed: true, report: none },
      { name: 'sandbox', passed: false, report: { ...none, failed } },
    ]);
    expect(lines).toEqual([
      'FAILED check: no test of it failed',
      '    its command did; its output begins at "── check ──"',
      'FAILED sandbox: a.test.ts > bad',
      '    Error: no',
      '    at a.test.ts:1:1',
    ]);
  });

  test('stays short when very many fail', () => {
    const failed = Array.from({ length: 500 }, (_, index) => ({ name: `test ${index}`, lines: ['Error: no'] }));
    const { lines } = describeEnd([{ name: 'unit', passed: false, report: { ...none, failed } }]);
    expect(lines.length).toBeLessThan(100);
    expect(lines.at(-1)).toMatch(/^and 470 more/);
  });
});
