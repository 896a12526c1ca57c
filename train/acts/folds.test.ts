import { expect, it } from 'vitest';
import { assertNoLeak } from '@agentfleet/eval/stats';
import { Random } from '../numeric/random.ts';
import { crossProbabilities } from './calibrate.ts';
import { onePerProblem, type LabelledAct } from './data.ts';
import { embedded } from './embedded.ts';
import { chosen, fitActs } from './fit.ts';
import { authorsOf, foldOf } from './folds.ts';

const act = (
  id: string,
  problem: string,
  head: LabelledAct['head'],
  good: boolean,
  source: LabelledAct['source'] = 'Pack',
): LabelledAct => ({
  id,
  problem,
  source,
  head,
  text: `${id} ${problem}`,
  features: {},
  good,
  label: good ? 'Benign' : 'Escape',
  policy: { unsafe: 0.5, label: 'Benign' },
  weight: 1,
  first: { decision: 'Allow', risk: 'Unknown', structure: {}, next: 'GateTwo', findings: [], rank: 0 },
});

const commands = Array.from({ length: 200 }, (_, at) => act(`c${at}`, `p${at}`, 'Shell', at % 3 === 0));
/** Files that were made of them: another head, another source, often another label. */
const files = commands.map(({ id, problem }, at) => act(`f${id}`, problem, 'Editor', at % 2 === 0, 'Template'));

it('puts all acts of a problem into one fold, whatever head and label they have', () => {
  const acts = [...commands, ...files];
  const folds = foldOf(acts, 5);
  for (const fold of [0, 1, 2, 3, 4]) {
    const own = acts.filter(({ problem }) => folds.get(problem) === fold);
    expect(own.length).toBeGreaterThanOrEqual(78);
    const rest = acts.filter(({ problem }) => folds.get(problem) !== fold);
    const examples = (some: readonly LabelledAct[]) => some.map(({ problem, text }) => ({ problem, content: text }));
    expect(() => assertNoLeak(examples(rest), examples(own))).not.toThrow();
  }
  // What decides is the command: its kinds are spread evenly, as if there were no files.
  expect(folds).toEqual(foldOf(commands, 5));
});

it('leaves out one author at a time, whose acts all lie in one fold', () => {
  const acts = [...commands.map((one, at) => ({ ...one, author: 'ABCDEFG'[at % 7] ?? 'A' })), act('t1', 't1', 'Shell', true, 'Template')];
  const folds = foldOf(acts, 5);
  expect(authorsOf(acts)).toEqual(['A', 'B', 'C', 'D', 'E', 'F', 'G']);
  for (const author of 'ABCDEFG') {
    const own = new Set(acts.filter((one) => one.author === author).map(({ problem }) => folds.get(problem)));
    expect(own.size, author).toBe(1);
  }
  expect(new Set(folds.values()).size).toBe(7);
});

it('fits the curve of each fold without it', () => {
  // In fold 0 low energy is bad, elsewhere it is good: a curve that has seen its fold would know.
  const judged = Array.from({ length: 100 }, (_, at) => {
    const fold = at % 5;
    const energy = at < 50 ? -1 : 1;
    return { act: act(`a${at}`, `p${at}`, 'Shell', fold === 0 ? energy > 0 : energy < 0), fold, energy };
  });
  const believed = crossProbabilities(judged).filter(({ fold }) => fold === 0);
  expect(believed.filter(({ energy }) => energy < 0).every(({ p }) => p > 0.99)).toBe(true);
  expect(believed.filter(({ energy }) => energy > 0).every(({ p }) => p < 0.01)).toBe(true);
});

it('measures one act of each problem and head', () => {
  expect(onePerProblem([...commands, ...commands].map((one) => ({ act: one })))).toHaveLength(200);
});

it('calls a file that only speaks of a command harmless, and keeps the command in every file', () => {
  const random = new Random(1);
  const made = Array.from({ length: 600 }, () => embedded('rm -rf /srv/data', random));
  expect(made.every(({ content }) => content.includes('rm -rf /srv/data'))).toBe(true);
  const speaking = made.filter(({ runs }) => !runs);
  expect(speaking.length).toBeGreaterThan(60);
  expect(speaking.length).toBeLessThan(140);
  expect(speaking.every(({ path }) => /^(?:docs|src\/rules|tests?)\//.test(path))).toBe(true);
});

it('never learns that more harm is better, or that more care is worse, whatever the labels say', () => {
  const lie = commands.map((one, at) => ({
    ...one,
    features: {
      outsideTargets: at % 3 === 0 ? 4 : 0,
      objections: at % 3 === 0 ? 1 : 0,
      dryRunShare: at % 3 === 0 ? 0 : 1,
      insideTargets: at % 3 === 0 ? 2 : 0,
    },
  }));
  const { dense } = fitActs(lie, { ...chosen, epochs: 4, words: false }, new Random(2));
  expect(dense['outsideTargets']?.[0] ?? 0).toBeGreaterThanOrEqual(0);
  expect(dense['objections']?.[0] ?? 0).toBeGreaterThanOrEqual(0);
  expect(dense['dryRunShare']?.[0] ?? 0).toBeLessThanOrEqual(0);
  expect(dense['insideTargets']?.[0] ?? 0).toBeLessThan(0);
});
