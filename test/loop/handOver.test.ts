import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { AttemptContext, Outcome } from '@agentfleet/agent/attempt';
import type { KeeperClient } from '@agentfleet/keeper/client';
import type { AgentTaskSpec, Approval, Run } from '@agentfleet/protocol/api';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { startPartsServer, type PartsServer } from '../../agent-image/src/decision/testing/partsServer.ts';
import { LocalSandbox } from './localSandbox.ts';
import { LoopBed, taskFor, tried } from './loopBed.ts';

vi.setConfig({ testTimeout: 180_000 });

/**
 * A worker dies after a push that a person allowed or gate 2 passed; another one continues from the log. The push is
 * not repeated.
 */
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
const push = 'git push origin HEAD:main';
const commands = ["sed -i 's/a - b/a + b/' calc.py", 'git commit -qam repaired', push];
const files = {
  'calc.py': 'def add(a, b):\n    return a - b\n',
  'test_calc.py':
    'import unittest\n\nfrom calc import add\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n',
};
const approvals = { require: ['External'], timeoutSeconds: 900 };
const remote = (): string => join(sandbox.folder, 'remote.git');

function specOf(policy: object): Partial<AgentTaskSpec> {
  const clone = `git init -q -b main . && git config user.email a@example.org && git config user.name a && git add -A &&
git commit -qm first && git clone -q --bare . ${remote()} && git remote add origin ${remote()}`;
  const spec = taskFor(files, ['python3', '-m', 'unittest', '-v'], goal);
  return { ...spec, setup: [{ name: 'clone', command: ['sh', '-c', clone] }], policy } as unknown as Partial<AgentTaskSpec>;
}

/** A call of the keeper that the worker does not live to see the answer of. */
type Last = (method: string, argument: unknown) => boolean;

const isPush: Last = (method, body) => method === 'run' && (body as { readonly command?: unknown }).command === push;
/** The first check after the push. */
function checkAfterPush(): Last {
  let pushed = false;
  return (method, body) => {
    pushed ||= isPush(method, body);
    return pushed && method === 'run' && (body as { readonly argv?: readonly string[] }).argv?.[0] === 'python3';
  };
}
const isTried: Last = (method, kind) => method === 'note' && kind === 'Tried';

interface Fleet {
  readonly policy: object;
  readonly pushes: string[];
  readonly asked: NonNullable<Run['pendingApproval']>[];
  /** A person's answers, in order of the questions. */
  readonly decisions: readonly Approval['decision'][];
  readonly said: Approval[];
}

/** Runs one worker; with `last` it dies when that call is done. */
async function work(fleet: Fleet, url: string, last: Last = () => false): Promise<Outcome> {
  const { experts, verifier } = parts.pool();
  const gen: PoolBrief['experts'][number] = { name: 'gen', role: 'Generalist', engine: 'Replay', domains: ['*'], url };
  const pool = { experts: [gen, ...experts.filter(({ role }) => role !== 'Generalist')], verifier };
  const run = bed.begin(sandbox, specOf(fleet.policy), pool);
  const { context } = run;
  const keeper = new Proxy(sandbox.client, {
    get(target, name: string) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...args: readonly unknown[]): Promise<unknown> => {
        context.signal.throwIfAborted();
        if (isPush(name, args[0])) fleet.pushes.push(push);
        const answer: unknown = await (method.apply(target, args) as Promise<unknown>);
        if (last(name, args[0])) run.abort('Lost');
        context.signal.throwIfAborted();
        return answer;
      };
    },
  });
  const events: KeeperClient['events'] = (from) => sandbox.client.events(from);
  const own: AttemptContext = {
    ...context,
    keeper: new Proxy(keeper, { get: (target, name) => (name === 'events' ? events : (Reflect.get(target, name) as unknown)) }),
    approvals: () => fleet.said,
    report(change, options) {
      if (change.pendingApproval !== undefined) {
        const decision = fleet.decisions[fleet.asked.length] ?? 'Rejected';
        fleet.asked.push(change.pendingApproval);
        const { action } = change.pendingApproval;
        fleet.said.push({ action, decision, orderRef: { name: `no-${fleet.asked.length}` }, requester: 'ann', at: '2030-01-01T00:00:00Z' });
      }
      context.report(change, options);
    },
  };
  return bed.run({ context: own });
}

interface Play {
  readonly policy: object;
  readonly last: Last;
  readonly decisions?: readonly Approval['decision'][];
}

/** Two workers, one after the other; the first one dies. */
async function play({ policy, last, decisions = ['Approved'] }: Play): Promise<Fleet & { readonly outcome: Outcome }> {
  const acts = commands.map((command) => ({ tool: 'Shell', command }) as const);
  const url = await bed.replay(goal, [[{ edits: [], acts, weight: 1, operator: 'recorded', rationale: 'as recorded' }]]);
  const fleet: Fleet = { policy, pushes: [], asked: [], decisions, said: [] };
  await expect(work(fleet, url, last)).rejects.toBe('Lost');
  expect(fleet.pushes).toHaveLength(1);
  return { ...fleet, outcome: await work(fleet, url) };
}

const log = (): string => execFileSync('git', ['-C', remote(), 'log', '--format=%s', 'main'], { encoding: 'utf8' });
const why = (): readonly string[] => tried(sandbox).map((note) => (note as unknown as { readonly why: string }).why);

test('a push with an unobserved end is not repeated by its approval: a person is asked again', async () => {
  const { asked, pushes, outcome } = await play({ policy: { profile: 'Permissive', approvals }, last: isPush });
  expect(outcome).toMatchObject({ result: 'Failed', class: 'ApprovalRejected' });
  expect([pushes.length, log(), asked.length]).toEqual([1, 'repaired\nfirst\n', 2]);
  expect(asked[1]?.action).not.toBe(asked[0]?.action);
  expect(asked[1]?.evidence).toMatch(/an earlier worker began its commands and their end was not seen: they may be done/);
});

test('a push with an unobserved end is repeated when a person approves it', async () => {
  const { pushes } = await play({ policy: { profile: 'Permissive', approvals }, last: isPush, decisions: ['Approved', 'Approved'] });
  expect(pushes).toHaveLength(2);
});

test('a push with an unobserved end is not repeated where no person can be asked', async () => {
  const { pushes, outcome } = await play({ policy: { profile: 'Privileged' }, last: isPush });
  expect(outcome).toMatchObject({ result: 'Failed', class: 'Stuck' });
  expect([pushes.length, why()]).toEqual([1, [expect.stringMatching(/^an earlier worker began its commands/)]]);
});

test.each([
  ['while its checks run', checkAfterPush],
  ['when it had told that all checks hold', () => isTried],
])('a candidate with a push that is done goes on from its snapshot after a worker that died %s', async (_, last) => {
  const { asked, pushes, outcome } = await play({ policy: { profile: 'Permissive', approvals }, last: last() });
  expect(outcome).toMatchObject({ result: 'Succeeded' });
  expect([pushes.length, asked.length, log()]).toEqual([1, 1, 'repaired\nfirst\n']);
});
