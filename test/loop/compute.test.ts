import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { ComputeBrief, PoolBrief } from '@agentfleet/protocol/pool';
import { startPartsServer, type PartsServer } from '../../agent-image/src/decision/testing/partsServer.ts';
import { LocalSandbox } from './localSandbox.ts';
import { generalist, LoopBed, taskFor, tried } from './loopBed.ts';
import { moduleBug, oneBug, wrongName, type ExampleTask } from './tasks.ts';

/** Real commands: a machine that is busy with other things takes its time. */
vi.setConfig({ testTimeout: 180_000 });

let bed: LoopBed;
let synth: string;
let parts: PartsServer;
beforeAll(async () => {
  bed = await LoopBed.open();
  synth = await bed.serve({ AGENTFLEET_ENGINE: 'Synth' });
});
afterAll(() => bed[Symbol.asyncDispose]());
beforeEach(async () => {
  parts = await startPartsServer();
});
afterEach(() => parts[Symbol.asyncDispose]());

const fleet = (url = synth): Pick<PoolBrief, 'experts' | 'verifier'> => ({
  experts: [generalist(url, 'Synth'), ...parts.pool().experts.filter(({ role }) => role === 'Planner')],
  verifier: null,
});

/** The first decision about a task, by the real search. */
async function first({ files, command }: ExampleTask, own: Partial<ComputeBrief> = {}) {
  await using sandbox = await LocalSandbox.open();
  const run = bed.begin(sandbox, taskFor(files, command), fleet(), own);
  sandbox.onNote = () => {
    if (tried(sandbox).length > 0) run.abort('Quiesce');
  };
  await bed.run(run).catch((error: unknown) => expect(error).toBe('Quiesce'));
  const { signals } = tried(sandbox)[0] ?? {};
  return { k: signals?.['k'], deliberate: signals?.['deliberate'], H: Number(signals?.['entropyNats']), dE: Number(signals?.['margin']) };
}

test('how many candidates are compared differs from task to task under one profile, by entropy, margin and risk', async () => {
  const plain = await first(wrongName);
  const even = await first(oneBug);
  expect(plain.H).toBeLessThan(even.H);
  expect(plain.dE).toBeGreaterThan(even.dE);
  // With bounds between the two, one is sure and the other is not, whatever their values in later versions of the
  // search.
  const profile = { entropyFastNats: (plain.H + even.H) / 2, margin: (plain.dE + even.dE) / 2 };
  const sure = await first(wrongName, profile);
  const unsure = await first(oneBug, profile);
  parts.script.risk = 0.9;
  const risky = await first(wrongName, profile);
  expect([sure, unsure, risky].map(({ k, deliberate }) => [k, deliberate])).toEqual([
    [1, false],
    [2, false],
    [4, true],
  ]);
});

test('without coverage a JavaScript task reads the imports of its failing tests, and no installed packages', async () => {
  await using blind = await LoopBed.open(() => Promise.resolve([]));
  const goal = 'Add the tax.';
  const edit = { path: 'src/price.js', before: 'net - net', after: 'net + net' };
  const repair = { edits: [edit], acts: [], weight: 1, operator: 'arithmetic', rationale: 'adds' };
  const url = await blind.replay(goal, [[repair]]);
  await using sandbox = await LocalSandbox.open();
  const run = blind.begin(sandbox, taskFor(moduleBug.files, moduleBug.command, goal), fleet(url));
  const asked: string[][] = [];
  const domains: string[] = [];
  const { experts } = run.context;
  const context = {
    ...run.context,
    experts: {
      choose: (domain: string) => {
        domains.push(domain);
        return experts.choose(domain);
      },
      generate: (...args: Parameters<typeof experts.generate>) => {
        asked.push(args[1].files.map(({ path }) => path));
        return experts.generate(...args);
      },
    },
  };
  expect(await blind.run({ ...run, context })).toMatchObject({ result: 'Succeeded' });
  expect(asked[0]).toEqual(['src/price.js', 'src/rate.js']);
  expect(domains[0]).toBe('javascript');
});
