import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock, type Clock } from '@agentfleet/kube';
import type { ExpertEndpoint, PoolBrief } from '@agentfleet/protocol/pool';
import { modelDigest, startPartsServer, type PartsServer } from '../../agent-image/src/decision/testing/partsServer.ts';
import { LocalSandbox } from './localSandbox.ts';
import { generalist, LoopBed, taskFor, tried } from './loopBed.ts';
import { accident, fiveProposals, fourProposals, oneBug, twoBugs } from './tasks.ts';

/** Real commands: a machine that is busy with other things takes its time. */
vi.setConfig({ testTimeout: 180_000 });

/** Waits between tries pass at once; deadlines are real. */
const hasty = (): Clock => {
  let passed = 0;
  return {
    now: () => systemClock.now(),
    monotonic: () => passed + systemClock.monotonic(),
    after: (ms, run) => {
      if (ms > 10_000) return systemClock.after(ms, run);
      passed += ms;
      return systemClock.after(0, run);
    },
  };
};

/** The loop with a search that needs no model, and learned parts with answers of the test. */
let bed: LoopBed;
let synth: string;
beforeAll(async () => {
  bed = await LoopBed.open();
  synth = await bed.serve({ AGENTFLEET_ENGINE: 'Synth' });
});
afterAll(() => bed[Symbol.asyncDispose]());

const proposer = (url = synth): ExpertEndpoint => generalist(url, 'Synth');
type Fleet = Pick<PoolBrief, 'experts' | 'verifier'>;
const alone = (): Fleet => ({ experts: [proposer()], verifier: null });
/** A fleet with everybody; the parts are scripted. */
function whole(parts: PartsServer, gen = proposer()): Fleet {
  const { experts, verifier } = parts.pool();
  return { experts: [gen, ...experts.filter(({ role }) => role !== 'Generalist')], verifier };
}

describe('two bugs in two files', () => {
  test('are repaired by two accepted steps, which the plan shows', async () => {
    await using sandbox = await LocalSandbox.open();
    const run = bed.begin(sandbox, taskFor(twoBugs.files, twoBugs.command), alone());
    expect(await bed.run(run)).toMatchObject({ result: 'Succeeded' });
    const steps = (run.reported.plan ?? []).filter(({ kind, state }) => kind === 'Step' && state === 'Done');
    expect(new Set(steps.map(({ intent }) => /\((\w+)\.py:/.exec(intent)?.[1]))).toEqual(new Set(['rank', 'total']));
    expect(steps).toHaveLength(2);
    expect(tried(sandbox).map(({ result }) => result)).toEqual(expect.arrayContaining(['Better', 'Reached']));
    expect(sandbox.notes.filter(({ kind }) => kind === 'Accepted')).toHaveLength(1);
  });
});

test('a test that passes by accident does not hold the search: it leaves that tree before all is tried there', async () => {
  await using sandbox = await LocalSandbox.open();
  const url = await bed.replay(accident.goal, accident.steps);
  const run = bed.begin(sandbox, taskFor(accident.files, accident.command, accident.goal), { experts: [proposer(url)], verifier: null });
  expect(await bed.run(run)).toMatchObject({ result: 'Succeeded' });
  const notes = tried(sandbox);
  expect(notes[0]).toMatchObject({ operator: 'return 7', result: 'Better' });
  expect(notes.at(-1)).toMatchObject({ operator: '>', result: 'Reached' });
  expect(notes.length).toBeLessThan(accident.steps[1].length);
  const steps = (run.reported.plan ?? []).filter(({ kind }) => kind === 'Step');
  expect(steps.find(({ intent }) => intent.startsWith('writes return 7 '))?.state).toBe('Dropped');
});

test.each([
  ['import calc', 'calc.multiply'],
  ['from calc import multiply', 'multiply'],
])('a function that does not exist yet (%s) is nothing for a search of edits, and it says so before it tries any', async (load, call) => {
  await using sandbox = await LocalSandbox.open();
  const test = `import unittest\n${load}\n\n\nclass T(unittest.TestCase):\n    def test_multiply(self):\n        self.assertEqual(${call}(2, 3), 6)\n`;
  const files = { 'calc.py': 'def add(a, b):\n    return a + b\n', 'test_calc.py': test };
  const run = bed.begin(sandbox, taskFor(files, ['python3', '-m', 'unittest', '-v'], 'Add multiply to calc.py.'), alone());
  const outcome = await bed.run(run);
  expect(outcome).toMatchObject({ result: 'Failed', class: 'Stuck', reason: 'NewCodeNeeded' });
  expect(outcome.message).toMatch(
    /asks for multiply, which no file.*; nothing was tried\. At snapshot 0, check unit: .*\(gen: Synth\).*use a pool with a chat model/s,
  );
  expect(tried(sandbox)).toEqual([]);
  expect(run.reported.progress).toMatchObject({ done: 0, total: 0 });
  expect((run.reported.plan ?? []).filter(({ state }) => state === 'Running' || state === 'Pending')).toEqual([]);
});

describe('the fleet in the loop', () => {
  let parts: PartsServer;
  let sandbox: LocalSandbox;
  beforeEach(async () => {
    parts = await startPartsServer();
    sandbox = await LocalSandbox.open();
  });
  afterEach(() => Promise.all([parts[Symbol.asyncDispose](), sandbox[Symbol.asyncDispose]()]));

  const goal = 'Make the tests pass.';
  const one = () => taskFor(oneBug.files, oneBug.command, goal);
  const recorded = async (): Promise<Fleet> => whole(parts, proposer(await bed.replay(goal, [fiveProposals])));

  test('the inputs of a decision are in its note and in the report', async () => {
    parts.script.energy = ({ features }) => (features.testsFixed ?? 0) * -3 + (features.rank ?? 0) / 100;
    const run = bed.begin(sandbox, one(), await recorded());
    expect(await bed.run(run)).toMatchObject({ result: 'Succeeded' });
    const notes = tried(sandbox);
    expect(notes.map(({ operator }) => operator)).toEqual(['low + 1', 'low - 1', 'low * 2', 'x', 'high']);
    expect(notes.at(-1)).toMatchObject({
      result: 'Reached',
      signals: { risk: 0.1, pSuccess: 0.9, deliberate: false, degraded: [], k: 1 },
      facts: { tool: 'Editor', expert: 'gen', testsFixed: 1, testsFailing: 0, depth: 0 },
    });
    // By the measurement: one test more passes.
    expect(notes.at(-1)?.signals['energy']).toBeLessThan(-2.5);
    expect(parts.bodies('Control').map(({ steps }) => steps.length)).toEqual([0, 2, 4]);
    expect(parts.bodies('Control')[1]?.steps[0]).toMatchObject({ tool: 'Editor', expert: 0, edits: 1, testsTotal: 3, testsFailing: 1 });
    expect(run.reported.signals).toMatchObject({ pSuccess: '0.900000' });
    const took = run.reported.experts ?? [];
    expect(took.map(({ role }) => role)).toEqual(expect.arrayContaining(['Generalist', 'Planner', 'Verifier', 'Embedder']));
    expect(took.find(({ role }) => role === 'Verifier')).toEqual({ role: 'Verifier', name: 'ebm', digest: modelDigest });
  });

  test('a verifier that knows the repair has it tried first', async () => {
    parts.script.energy = ({ operator }) => (operator === 'high' ? -9 : 0);
    const run = bed.begin(sandbox, one(), await recorded(), { kBase: 8 });
    expect(await bed.run(run)).toMatchObject({ result: 'Succeeded' });
    expect(tried(sandbox).map(({ operator }) => operator)).toEqual(['high']);
  });

  test('a candidate that is far ahead is tried alone before more are asked for', async () => {
    parts.script.energy = ({ operator }) => ({ 'low + 1': -9, 'low - 1': -6, 'low * 2': -3 })[operator] ?? 0;
    await bed.run(bed.begin(sandbox, one(), await recorded(), { kBase: 5 }));
    // Alone, alone, alone; then two that are equal in one round.
    expect(parts.bodies('Control').map(({ steps }) => steps.length)).toEqual([0, 1, 2, 3]);
    expect(tried(sandbox).map(({ signals }) => signals['k'])).toEqual([5, 4, 3, 2, 2]);
  });

  test('a planner that fears harm makes rounds deliberate: all that is compared is tried, and the lowest energy kept', async () => {
    parts.script.risk = 0.9;
    parts.script.energy = ({ operator, features }) => (features.testsFixed ?? 0) * (operator.startsWith('rank') ? -2 : -1);
    const fleet = whole(parts, proposer(await bed.replay(goal, [fourProposals, fourProposals.slice(0, 2)])));
    const run = bed.begin(sandbox, taskFor(twoBugs.files, twoBugs.command, goal), fleet);
    expect(await bed.run(run)).toMatchObject({ result: 'Succeeded' });
    const notes = tried(sandbox);
    expect(notes.slice(0, 4).map(({ result, signals }) => [result, signals['k'], signals['deliberate']])).toEqual([
      ['Worse', 4, true],
      ['Better', 4, true],
      ['Equal', 4, true],
      ['Better', 4, true],
    ]);
    const [accepted] = sandbox.notes.filter(({ kind }) => kind === 'Accepted');
    expect(accepted?.data['edits']).toMatchObject([{ path: 'rank.py', after: '>' }]);
  });

  test('the expert that the planner speaks for is asked first, the other when it has nothing left', async () => {
    const wrong = fiveProposals.slice(0, 2);
    const gen = proposer(await bed.replay(goal, [wrong]));
    const spec = { ...proposer(await bed.replay(goal, [fiveProposals])), name: 'spec', role: 'Specialist' } as const;
    const { experts, verifier } = whole(parts, gen);
    const fleet = { experts: [...experts, spec], verifier };
    parts.script.experts = { gen: 0.9, spec: 0.1 };
    expect(await bed.run(bed.begin(sandbox, one(), fleet))).toMatchObject({ result: 'Succeeded' });
    expect(tried(sandbox).map(({ facts }) => facts['expert'])).toEqual(['gen', 'gen', 'spec', 'spec', 'spec']);
    await using again = await LocalSandbox.open();
    parts.script.experts = { gen: 0.5, spec: 0.5 };
    await bed.run(bed.begin(again, one(), fleet));
    expect(new Set(tried(again).map(({ facts }) => facts['expert']))).toEqual(new Set(['spec']));
  });

  test('a silent expert is reported, and the next one asked; only when none answers the attempt ends', async () => {
    const gen = proposer(await bed.replay(goal, [fiveProposals]));
    const dead = { ...proposer('http://127.0.0.1:1'), name: 'spec', role: 'Specialist' } as const;
    const run = bed.begin(sandbox, one(), { experts: [dead, gen], verifier: null }, {}, hasty());
    expect(await bed.run(run)).toMatchObject({ result: 'Succeeded' });
    expect(new Set(tried(sandbox).map(({ facts }) => facts['expert']))).toEqual(new Set(['gen']));
    expect(tried(sandbox)[0]?.signals.degraded).toEqual(['Specialist spec: ExpertUnreachable; another expert is asked']);
    await using again = await LocalSandbox.open();
    const wrong = proposer(await bed.replay(goal, [fiveProposals.slice(0, 2)]));
    const stuck = bed.begin(again, one(), { experts: [dead, wrong], verifier: null }, {}, hasty());
    // The one is gone; the other one's state is unknown.
    expect(await bed.run(stuck)).toMatchObject({ class: 'Infrastructure', reason: 'ExpertUnreachable' });
    expect(tried(again)).toHaveLength(2);
  });

  test('an unavailable planner leaves priors uniform, which report and trace show', async () => {
    parts.script.failing = { Control: 'Refuses' };
    const run = bed.begin(sandbox, one(), await recorded());
    expect(await bed.run(run)).toMatchObject({ result: 'Succeeded' });
    expect(run.reported.signals?.degraded).toEqual([expect.stringMatching(/^Planner hrm: .*priors are uniform/)]);
    expect(tried(sandbox).every(({ signals }) => signals['risk'] === null && signals.degraded.length === 1)).toBe(true);
    // Three rounds; a dead planner is left out after two failures.
    expect(parts.bodies('Control')).toHaveLength(2);
  });

  test('an unavailable EnergyModel leaves the order of the expert, and is reported', async () => {
    parts.script.failing = { Score: 'Refuses' };
    const run = bed.begin(sandbox, one(), await recorded());
    expect(await bed.run(run)).toMatchObject({ result: 'Succeeded' });
    expect(tried(sandbox).map(({ operator }) => operator)).toEqual(['low + 1', 'low - 1', 'low * 2', 'x', 'high']);
    expect(run.reported.signals?.degraded).toEqual([expect.stringMatching(/^Verifier ebm: .*gate 2 is closed/)]);
    expect(run.reported.signals?.energy).toBeUndefined();
  });

  test('another worker plans with the steps of the first, and tries nothing twice', async () => {
    const fleet = await recorded();
    const first = bed.begin(sandbox, one(), fleet);
    sandbox.onNote = () => {
      if (tried(sandbox).length === 3) first.abort('Quiesce');
    };
    await expect(bed.run(first)).rejects.toBe('Quiesce');
    const asked = parts.bodies('Control').length;
    expect(await bed.run(bed.begin(sandbox, one(), fleet))).toMatchObject({ result: 'Succeeded' });
    expect(parts.bodies('Control')[asked]?.steps).toHaveLength(3);
    expect(tried(sandbox).map(({ operator }) => operator)).toEqual(['low + 1', 'low - 1', 'low * 2', 'x', 'high']);
  });
});
