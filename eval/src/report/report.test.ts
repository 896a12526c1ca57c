import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { describe, expect, test } from 'vitest';
import { headFormat, type Attempted, type EvalRecord } from '../run/index.ts';
import { failure, overfit, record, success } from '../testing/records.ts';
import {
  compareRecords,
  comparisonsOf,
  flakesOf,
  groupsOf,
  htmlReport,
  junitXml,
  reportOf,
  reportSchema,
  terminalReport,
  writeReports,
} from './index.ts';

const names = Array.from({ length: 10 }, (_, at) => `mini/sum/t${at}`);
/** The second variant loses three tasks and needs two candidates more for the others. */
const records = [
  ...names.map((task) => record(task, 'full', success, 3)),
  ...names.map((task, at) => record(task, '-EBM', at < 2 ? failure : at === 2 ? overfit : success, 5)),
];
const head = {
  format: headFormat,
  pool: 'local',
  seed: 1,
  packs: { mini: 'sha256:p' },
  variants: { full: 'sha256:a', '-EBM': 'sha256:b' },
} as const;
const nasty: EvalRecord = { ...record('mini/sum/<script>alert(1)</script>', 'full', failure), message: 'a & b\u0000 </failure>' };

describe('groups', () => {
  test('count a task as solved only when the hidden check agrees', () => {
    const [full, without] = groupsOf(records);
    expect(full).toMatchObject({ attempts: 10, overfit: 0, solved: { value: 1, high: 1 }, tries: { mean: { value: 3 } } });
    expect(without).toMatchObject({ attempts: 10, overfit: 1, solved: { value: 0.7 }, tries: { mean: { value: 5 }, median: 5 } });
  });

  test('count failures of the machine as not solved, and report them', () => {
    expect(groupsOf([record('a', 'full', { ...failure, result: 'Error' }), record('b', 'full', success)])[0]).toMatchObject({
      errors: 1,
      solved: { value: 0.5 },
    });
  });
});

test('records kept as JSON read the same where there is no number', () => {
  const unsolved = names.map((task) => record(task, 'full', failure));
  const groups = groupsOf([...unsolved, ...unsolved.map((one) => ({ ...one, variant: '-EBM' }))]);
  const comparisons = comparisonsOf([...unsolved, ...unsolved.map((one) => ({ ...one, variant: '-EBM' }))]);
  const flakes = flakesOf(unsolved);
  const [keptGroups, keptComparisons] = JSON.parse(JSON.stringify([groups, comparisons])) as [typeof groups, typeof comparisons];
  expect(Number.isNaN(groups[0]?.tries.mean.value)).toBe(true);
  expect(keptGroups[0]?.tries.mean.value).toBeNull();
  expect(terminalReport(keptGroups, keptComparisons, flakes)).toBe(terminalReport(groups, comparisons, flakes));
});

describe('comparisons', () => {
  test('pair by task', () => {
    expect(comparisonsOf(records)).toEqual([
      expect.objectContaining({
        first: 'full',
        second: '-EBM',
        pairs: 10,
        solved: { onlyFirst: 3, onlySecond: 0, p: expect.closeTo(0.25, 10) as number },
        tries: { value: 2, low: 2, high: 2, pairs: 7, fewer: 0, more: 7 },
      }),
    ]);
    expect(comparisonsOf(records)[0]?.difference.value).toBeCloseTo(-0.3);
  });

  test('leave out attempts missing in one and failures of the machine', () => {
    const broken = record(names[1] ?? '', 'b', { ...failure, result: 'Error' });
    const some = [record(names[0] ?? '', 'b', success), broken, record('other', 'b', success)];
    expect(compareRecords(records.slice(0, 10), some, ['a', 'b']).pairs).toBe(1);
  });
});

test('rounds of a seed are no more tasks: the first one counts', () => {
  const tried = [{ result: 'Better', operator: 'x', energy: 1, pSuccess: 0.4, k: 2 }];
  const later = [2, 3].flatMap((round) => records.map((one) => ({ ...one, ...failure, tried, wallSeconds: 9, round })));
  const { flakes, ...counted } = reportOf(head, [...later, ...records]);
  expect(counted).toEqual({ ...reportOf(head, records), flakes: undefined });
  expect(flakes.pairs).toBe(40);
  const plots = (all: readonly EvalRecord[]): readonly string[] | null =>
    htmlReport(reportOf(head, records), all).match(/<svg.*?<\/svg>/gs);
  expect(plots([...records, ...later])).toEqual(plots(records));
});

describe('flakes', () => {
  const again = (one: EvalRecord, attempted: Attempted = success): EvalRecord => ({ ...one, ...attempted, round: 2 });

  test('are attempts that end otherwise with the same seed', () => {
    const first = records.slice(0, 10);
    const repeated = first.map((one, at) => again(one, at === 4 ? overfit : success));
    expect(flakesOf([...first, ...repeated])).toMatchObject({ pairs: 10, share: { value: 0.1 }, tasks: ['mini/sum/t4'] });
    expect(terminalReport([], [], flakesOf([...first, ...repeated]))).toMatch(
      /10 repeated attempts, OVER the budget of 2\.0 %: mini\/sum\/t4\./,
    );
    expect(terminalReport([], [], flakesOf([...first, ...first.map((one) => again(one))]))).toMatch(/within the budget/);
  });

  test('are shown to be rare by enough attempts only', () => {
    const many = Array.from({ length: 189 }, (_, at) => record(`t${at}`, 'full', success));
    const reported = (some: readonly EvalRecord[]): string => terminalReport([], [], flakesOf([...some, ...some.map((one) => again(one))]));
    expect(reported(many)).toMatch(/of 189 repeated attempts, within the budget of 2\.0 % by its upper bound too\./);
    expect(reported(many.slice(1))).toMatch(
      /of 188 repeated attempts, within the budget of 2\.0 %; to show it takes 189 without a flake\./,
    );
  });

  test('are not hidden by attempts that the machine failed', () => {
    const broken = { ...failure, result: 'Error' } as const;
    const [one, two] = [record('a', 'full', success), record('b', 'full', broken)];
    expect(flakesOf([one, again(one, broken), two, again(two, broken)])).toMatchObject({ pairs: 1, share: { value: 1 }, tasks: ['a'] });
  });

  test('are unknown where nothing was repeated', () => {
    expect(terminalReport([], [], flakesOf(records))).toMatch(/nothing is known about flakes; add --rounds 2/);
  });
});

describe('files', () => {
  test('JUnit counts as it should, whatever tasks are called', () => {
    const xml = junitXml([...records, nasty]);
    expect(XMLValidator.validate(xml)).toBe(true);
    const parsed = new XMLParser({ ignoreAttributes: false }).parse(xml) as {
      testsuites: { testsuite: { '@_name': string; '@_failures': string }[] };
    };
    expect(parsed.testsuites.testsuite.map((suite) => [suite['@_name'], suite['@_failures']])).toEqual([
      ['mini full', '1'],
      ['mini -EBM', '3'],
    ]);
    expect(xml).not.toContain('\u0000');
  });

  test('the page is one file without requests to a network and without scripts', () => {
    const page = htmlReport(reportOf(head, records), [...records, nasty]);
    expect(page).not.toMatch(/<script|https?:\/\/|\ssrc=|url\(|@import|\son\w+=/);
    expect(page).toContain("default-src 'none'");
    expect(page.match(/<svg/g)?.length).toBeGreaterThanOrEqual(4);
    expect(page).not.toContain('NaN');
    expect(htmlReport(reportOf(head, []), [])).not.toContain('NaN');
  });

  test('the first variant of the head is the reference, whichever ended first', () => {
    expect(reportOf(head, records.toReversed())).toEqual(reportOf(head, records));
  });

  test('the JSON fits its schema, and the same records give the same bytes in any order', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agentfleet-report-'));
    try {
      const validate = new Ajv({ allowUnionTypes: true }).compile(reportSchema);
      const read = async (): Promise<string[]> =>
        Promise.all(['report.json', 'report.html', 'junit.xml'].map((name) => readFile(join(folder, name), 'utf8')));
      await writeReports(folder, head, records);
      const first = await read();
      expect(validate(JSON.parse(first[0] ?? '')), JSON.stringify(validate.errors)).toBe(true);
      await writeReports(folder, head, records.toReversed());
      expect(await read()).toEqual(first);
      await writeReports(folder, head, []);
      expect(validate(JSON.parse((await read())[0] ?? ''))).toBe(true);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
