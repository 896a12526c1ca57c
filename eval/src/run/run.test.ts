import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { failure, pack, ScriptedPool, success } from '../testing/records.ts';
import { headOf, readResults, ResultsFile, runPlan, selected, variantsOf, type Attempted, type EvalRecord, type Plan } from './index.ts';

let folder: string;
let pool: ScriptedPool;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentfleet-results-'));
  pool = new ScriptedPool();
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const planOf = (change: Partial<Plan> = {}): Plan => ({
  packs: [pack(6)],
  variants: variantsOf(['EBM']),
  selection: { seed: 4 },
  rounds: 1,
  parallel: 2,
  ...change,
});

async function run(plan = planOf(), resume = false, signal = new AbortController().signal): Promise<readonly EvalRecord[]> {
  const head = await headOf(plan, pool);
  await using results = await ResultsFile.open(folder, head, resume);
  await runPlan(plan, { pool, results, head, signal });
  return results.records;
}

describe('runPlan', () => {
  test('gives every variant the same tasks with the same seeds', async () => {
    const records = await run();
    const byVariant = Map.groupBy(records, ({ variant }) => variant);
    const seen = (name: string): string[] => (byVariant.get(name) ?? []).map(({ task, seed }) => `${task} ${seed}`).sort();
    expect(seen('full')).toHaveLength(6);
    expect(seen('-EBM')).toEqual(seen('full'));
    expect(new Set(records.map(({ seed }) => seed)).size).toBe(6);
    expect((await readResults(folder)).records).toEqual(records);
  });

  test('counts what has ended, and passes on why an attempt waits', async () => {
    const plan = planOf({ variants: variantsOf([]), parallel: 3 });
    const head = await headOf(plan, pool);
    await using results = await ResultsFile.open(folder, head, false);
    const [counted, waited] = [[] as string[], [] as string[]];
    pool.waits = 'no answer';
    const onRecord = (_: EvalRecord, done: number, all: number): void => void counted.push(`${done}/${all}`);
    const onWait = (task: string, why: string): void => void waited.push(`${task}: ${why}`);
    await runPlan(plan, { pool, results, head, signal: new AbortController().signal, onRecord, onWait });
    expect(counted).toEqual(['1/6', '2/6', '3/6', '4/6', '5/6', '6/6']);
    expect(waited).toHaveLength(6);
    expect(waited[0]).toMatch(/^mini\/.*: no answer$/);
  });

  test('continues where it was cut off and makes nothing twice', async () => {
    const stop = new AbortController();
    pool.answer = () => {
      if (pool.asked.length === 5) stop.abort(new Error('cut off'));
      return success;
    };
    await expect(run(planOf({ parallel: 1 }), false, stop.signal)).rejects.toThrow('cut off');
    const file = join(folder, 'results.jsonl');
    await appendFile(file, '{"format":"agentfleet.dev/eval-re');
    pool.answer = () => success;
    expect(await run(planOf({ parallel: 1 }), true)).toHaveLength(12);
    expect(pool.asked).toHaveLength(12);
    expect(new Set(pool.asked).size).toBe(12);
    expect((await readFile(file, 'utf8')).trimEnd().split('\n')).toHaveLength(13);
  });

  test('calls its attempts by a run that goes on with its results, and that no other results have', async () => {
    await run();
    const [own] = pool.runs;
    pool.runs.clear();
    await run(planOf({ rounds: 2 }), true);
    expect([...pool.runs]).toEqual([own]);
    await rm(join(folder, 'results.jsonl'));
    await run();
    expect(pool.runs.size).toBe(2);
    expect(pool.runs).not.toContain(undefined);
    expect((await readResults(folder)).head).not.toHaveProperty('run');
  });

  test.each<[string, () => Plan, RegExp]>([
    ['a changed hidden check', () => planOf({ packs: [pack(6, 'easier')] }), /pack mini has changed since/],
    ['another program', () => ((pool.build = 'two'), planOf()), /variant full has changed since/],
    ['another seed', () => planOf({ selection: { seed: 5 } }), /they have --seed 4/],
    ['a new variant', () => planOf({ variants: variantsOf(['EBM', 'HRM']) }), /they are without variant -HRM/],
  ])('does not mix results with those of %s', async (_, change, message) => {
    await run();
    await expect(run(change(), true)).rejects.toThrow(message);
    expect(pool.asked).toHaveLength(12);
  });

  test('does not touch results that are there unless it is reported to go on', async () => {
    await run();
    await expect(run()).rejects.toThrow(/has results already; add --resume/);
  });

  test('repeats attempts that pool or machine failed, and no others', async () => {
    const fault: Attempted = { ...failure, result: 'Error', reason: 'NotAttempted', message: 'no sandbox' };
    pool.answer = (task) => (task.id.endsWith('t3') ? fault : task.id.endsWith('t4') ? failure : success);
    expect((await run()).filter(({ result }) => result === 'Error')).toHaveLength(2);
    pool.answer = () => success;
    const records = await run(planOf(), true);
    expect(records.map(({ result }) => result).sort()).toEqual([
      ...Array<string>(2).fill('Failed'),
      ...Array<string>(10).fill('Succeeded'),
    ]);
    expect(pool.asked).toHaveLength(14);
    expect((await readResults(folder)).records).toEqual(records);
  });

  test('keeps on when one attempt fails', async () => {
    pool.answer = (task) => (task.id.endsWith('t3') ? failure : success);
    expect((await run()).filter(({ result }) => result === 'Failed')).toHaveLength(2);
  });

  test('refuses a selection of nothing', async () => {
    await expect(run(planOf({ selection: { seed: 1, only: 'nowhere' } }))).rejects.toThrow(/no task is chosen/);
  });
});

describe('selected', () => {
  const ids = (selection: Parameters<typeof selected>[1]): string[] => selected(pack(40), selection).map(({ id }) => id);

  test('draws the same for the same seed, and larger samples hold smaller ones', () => {
    expect(ids({ seed: 1, sample: 5 })).toEqual(ids({ seed: 1, sample: 9 }).slice(0, 5));
    expect(ids({ seed: 1, sample: 5 })).not.toEqual(ids({ seed: 2, sample: 5 }));
  });

  test('keeps to its half', () => {
    expect(selected(pack(40), { seed: 1, half: 'dev' }).every(({ half }) => half === 'dev')).toBe(true);
  });
});

describe('readResults', () => {
  test('names the line that is wrong', async () => {
    await run();
    const file = join(folder, 'results.jsonl');
    const [head = '', first = '', ...rest] = (await readFile(file, 'utf8')).trimEnd().split('\n');
    await writeFile(file, `${[head, first.replace('"Succeeded"', '"Great"'), ...rest].join('\n')}\n`);
    await expect(readResults(folder)).rejects.toThrow(/results\.jsonl:2 \/result must be equal to one of/);
    await writeFile(file, `${head}\nnot json\n`);
    await expect(readResults(folder)).rejects.toThrow(/results\.jsonl:2 is no JSON/);
    await expect(readResults(join(folder, 'gone'))).rejects.toThrow(/there are no results in/);
  });
});

test('variants that nothing obeys are refused', () => {
  expect(variantsOf(['K4', 'HRM', 'K4']).map(({ name }) => name)).toEqual(['full', 'K4', '-HRM']);
  expect(() => variantsOf(['Memory'])).toThrow(/Memory cannot be ablated: nothing of a task outlives it/);
  expect(() => variantsOf(['Everything'])).toThrow(/there is no ablation Everything; choose of HRM, EBM/);
});
