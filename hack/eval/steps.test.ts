import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { EvalStep } from './plan.ts';
import { runSteps, type Progress, type StepPorts } from './steps.ts';

const steps: readonly EvalStep[] = [
  { name: 'a', kind: 'verify', argv: ['eval', 'verify', 'a'] },
  { name: 'b', kind: 'run', argv: ['eval', 'run', 'b'] },
  { name: 'c', kind: 'judge', argv: ['eval', 'judge', 'c'] },
];

let out: string;
let asked: string[];
let ports: StepPorts;
let stop: AbortController;
let status: (argv: readonly string[]) => number;
let inputs: string;

beforeEach(async () => {
  out = await mkdtemp(join(tmpdir(), 'agentfleet-steps-'));
  [asked, stop, status, inputs] = [[], new AbortController(), () => 0, 'one'];
  let now = 0;
  ports = {
    out,
    resume: true,
    parallel: 3,
    signal: stop.signal,
    inputsOf: () => Promise.resolve(inputs),
    fleet: (argv) => {
      asked.push(argv.join(' ').replaceAll(out, 'OUT'));
      return Promise.resolve(status(argv));
    },
    minutesNow: () => (now += 1),
    print: () => undefined,
  };
});
afterEach(() => rm(out, { recursive: true, force: true }));

const starts = async (): Promise<string> => (await runSteps(steps, ports)).map(({ name, start }) => `${name} ${start}`).join(', ');

test('each step has its folder, and as many processes as are allowed', async () => {
  expect(await starts()).toBe('a Anew, b Anew, c Anew');
  expect(asked).toEqual(['eval verify a --parallel 3 --out OUT/a', 'eval run b --parallel 3 --out OUT/b', 'eval judge c --out OUT/c']);
});

test('a step that fails keeps no other from being run, and is run again', async () => {
  status = (argv) => (argv.includes('a') ? 1 : 0);
  expect((await runSteps(steps, ports)).map((run) => run.status)).toEqual([1, 0, 0]);
  status = () => 0;
  expect(await starts()).toBe('a GoOn, b Done, c Done');
  expect(asked).toHaveLength(4);
});

test('an interrupted step is continued, and its time counts as a whole', async () => {
  status = (argv) => {
    if (argv.includes('run')) stop.abort();
    return argv.includes('run') ? 1 : 0;
  };
  expect(await starts()).toBe('a Anew, b Anew');
  status = () => 0;
  ports = { ...ports, signal: new AbortController().signal };
  expect(await starts()).toBe('a Done, b GoOn, c Anew');
  expect(asked).toContain('eval run b --parallel 3 --resume --out OUT/b');
  const kept = JSON.parse(await readFile(join(out, 'b', 'progress.json'), 'utf8')) as Progress;
  expect(kept).toMatchObject({ done: true, minutes: 4 });
});

test.each<[string, () => void | Promise<void>]>([
  ['other inputs', () => void (inputs = 'two')],
  ['no wish to go on', () => void (ports = { ...ports, resume: false })],
  ['progress that was cut off', () => writeFile(join(out, 'b', 'progress.json'), '{"argv":["eval",')],
])('%s begins anew', async (_, change) => {
  await starts();
  await writeFile(join(out, 'b', 'results.jsonl'), 'old');
  await change();
  expect(await starts()).toMatch('b Anew');
  await expect(readFile(join(out, 'b', 'results.jsonl'))).rejects.toThrow(/ENOENT/);
});

test('another command starts again', async () => {
  await runSteps(steps, ports);
  const [run] = await runSteps([{ ...(steps[1] as EvalStep), argv: ['eval', 'run', 'b', '--sample', '2'] }], ports);
  expect(run?.start).toBe('Anew');
});
