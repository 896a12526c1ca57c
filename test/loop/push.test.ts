import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { AttemptContext } from '@agentfleet/agent/attempt';
import type { AgentTaskSpec, Approval } from '@agentfleet/protocol/api';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { startPartsServer, type PartsServer } from '../../agent-image/src/decision/testing/partsServer.ts';
import { LocalSandbox } from './localSandbox.ts';
import { LoopBed, taskFor, tried } from './loopBed.ts';

vi.setConfig({ testTimeout: 180_000 });

/** Whole attempts that push to a remote outside of the snapshots and fail afterwards, under each profile. */
let bed: LoopBed;
let parts: PartsServer;
let sandbox: LocalSandbox;
beforeAll(async () => {
  bed = await LoopBed.open();
});
afterAll(() => bed[Symbol.asyncDispose]());
beforeEach(async () => {
  [parts, sandbox] = await Promise.all([startPartsServer(), LocalSandbox.open()]);
});
afterEach(() => Promise.all([parts[Symbol.asyncDispose](), sandbox[Symbol.asyncDispose]()]));

const goal = 'Repair it and push.';
const commands = ["sed -i 's/a - b/a + b/' calc.py", 'git commit -qam repaired', 'git push origin main'];
const remoteIn = (folder: string): string => join(folder, 'remote.git');
const clone = (
  folder: string,
): string => `git init -q -b main . && git config user.email a@example.org && git config user.name a && git add -A && git commit -qm first &&
git clone -q --bare . ${remoteIn(folder)} && git remote add origin ${remoteIn(folder)}`;
const files = {
  'calc.py': 'def add(a, b):\n    return a - b\n',
  'test_calc.py':
    'import unittest\n\nfrom calc import add\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n',
};

const approvals = { require: ['External'], timeoutSeconds: 900 };

function specOf(policy: object): Partial<AgentTaskSpec> {
  const spec = taskFor(files, ['python3', '-m', 'unittest', '-v'], goal);
  const setup = [{ name: 'clone', command: ['sh', '-c', clone(sandbox.folder)] }];
  const checks = [...(spec.checks ?? []), { name: 'never', command: ['false'] }];
  return { ...spec, setup, checks, policy } as unknown as Partial<AgentTaskSpec>;
}

const remote = (): string => execFileSync('git', ['-C', remoteIn(sandbox.folder), 'log', '--format=%s', 'main'], { encoding: 'utf8' });

interface Played {
  readonly context: AttemptContext;
  /** Questions to a person. */
  readonly asked: readonly string[];
  /** The remote's content, and whether the effect was in the log, each time an intent had to be durable. */
  readonly intents: readonly (readonly [remote: string, planned: boolean])[];
}

/** Runs an attempt to its failure; a person, where asked, approves. */
async function play(policy: object): Promise<Played> {
  const url = await bed.replay(goal, [
    [
      {
        edits: [],
        acts: commands.map((command) => ({ tool: 'Shell', command })),
        weight: 1,
        operator: 'recorded',
        rationale: 'as recorded',
      },
    ],
  ]);
  const { experts, verifier } = parts.pool();
  const gen: PoolBrief['experts'][number] = { name: 'gen', role: 'Generalist', engine: 'Replay', domains: ['*'], url };
  const fleet = { experts: [gen, ...experts.filter(({ role }) => role !== 'Generalist')], verifier };
  const { context } = bed.begin(sandbox, specOf(policy), fleet);
  const [said, asked, intents]: [Approval[], string[], [string, boolean][]] = [[], [], []];
  const own: AttemptContext = {
    ...context,
    approvals: () => said,
    intentDurable: () => {
      intents.push([remote(), sandbox.notes.some(({ kind }) => kind === 'EffectPlanned')]);
      return Promise.resolve();
    },
    report: (change, options) => {
      const { action, summary = '' } = change.pendingApproval ?? {};
      if (action !== undefined) {
        asked.push(summary);
        said.push({ action, decision: 'Approved', orderRef: { name: 'yes' }, requester: 'ann', at: '2030-01-01T00:00:00Z' });
      }
      context.report(change, options);
    },
  };
  expect(await bed.run({ context: own })).toMatchObject({ result: 'Failed' });
  return { context: own, asked, intents };
}

test('Permissive: a person is asked first, the intent is durable before the push, and a rollback takes it back', async () => {
  const { context, asked, intents } = await play({ profile: 'Permissive', approvals });
  expect(asked).toEqual([expect.stringContaining('git push origin main')]);
  expect(remote()).toBe('repaired\nfirst\n');
  expect(intents.at(-1)).toEqual(['first\n', true]);
  expect(await bed.rollBack({ context })).toMatchObject({ verified: true });
  expect(remote()).toBe('first\n');
});

test('Permissive without anybody to ask: nothing is pushed', async () => {
  const { asked } = await play({ profile: 'Permissive' });
  expect([asked, remote(), tried(sandbox).map(({ result }) => result)]).toEqual([[], 'first\n', ['Denied']]);
});

test('Privileged: gate 2 decides, and its yes is one to the way back', async () => {
  const { context, asked } = await play({ profile: 'Privileged' });
  expect([asked, remote()]).toEqual([[], 'repaired\nfirst\n']);
  const restored = await bed.rollBack({ context });
  expect(restored.irreversible ?? []).toEqual([]);
  expect(remote()).toBe('first\n');
});

test('Privileged: one no of gate 2 is enough', async () => {
  parts.script.pSuccess = () => 0.05;
  await play({ profile: 'Privileged' });
  expect([remote(), tried(sandbox).map(({ result }) => result)]).toEqual(['first\n', ['Denied']]);
});

test.each(['Default', 'Strict'])('%s: no person is asked about a push', async (profile) => {
  const { asked } = await play({ profile, approvals });
  expect([asked, remote(), tried(sandbox).map(({ result }) => result)]).toEqual([[], 'first\n', ['Denied']]);
});
