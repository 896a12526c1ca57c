import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { AttemptContext, Outcome } from '@agentfleet/agent/attempt';
import type { KeeperClient } from '@agentfleet/keeper/client';
import type { AgentTaskSpec, Approval, Run } from '@agentfleet/protocol/api';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startPartsServer, type PartsServer } from '../../agent-image/src/decision/testing/partsServer.ts';
import { LocalSandbox } from './localSandbox.ts';
import { generalist, LoopBed, taskFor, tried, type AttemptRun } from './loopBed.ts';
import { wrongSign } from './tasks.ts';

vi.setConfig({ testTimeout: 180_000 });

/** Whole attempts that push to a remote outside of the snapshots. */
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
const push = 'git push origin main';
const commands = ["sed -i 's/a - b/a + b/' calc.py", 'git commit -qam repaired', push];
const approvals = { require: ['External'], timeoutSeconds: 900 };
const remote = (): string => join(sandbox.folder, 'remote.git');
const log = (): string => execFileSync('git', ['-C', remote(), 'log', '--format=%s', 'main'], { encoding: 'utf8' });

const recording = (): Promise<string> => {
  const acts = commands.map((command) => ({ tool: 'Shell', command }) as const);
  return bed.replay(goal, [[{ edits: [], acts, weight: 1, operator: 'recorded', rationale: 'as recorded' }]]);
};

/** An attempt by the recorded commands. `more`: checks beside the test. */
function begin(url: string, policy: object, more: readonly object[] = []): AttemptRun {
  const clone = `git init -q -b main . && git config user.email a@example.org && git config user.name a && git add -A &&
git commit -qm first && git clone -q --bare . ${remote()} && git remote add origin ${remote()}`;
  const spec = taskFor(wrongSign.files, wrongSign.command, goal);
  const own = { setup: [{ name: 'clone', command: ['sh', '-c', clone] }], checks: [...(spec.checks ?? []), ...more], policy };
  const { experts, verifier } = parts.pool();
  const fleet = { experts: [generalist(url), ...experts.filter(({ role }) => role !== 'Generalist')], verifier };
  return bed.begin(sandbox, { ...spec, ...own } as unknown as Partial<AgentTaskSpec>, fleet);
}

/** A person who answers questions by a list, and with no after its end. */
class Person {
  readonly asked: NonNullable<Run['pendingApproval']>[] = [];
  readonly #decisions: readonly Approval['decision'][];
  readonly #said: Approval[] = [];

  constructor(decisions: readonly Approval['decision'][]) {
    this.#decisions = decisions;
  }

  /** The attempt, with this person to ask. */
  with(context: AttemptContext): AttemptContext {
    const report: AttemptContext['report'] = (change, options) => {
      const { pendingApproval } = change;
      if (pendingApproval !== undefined) {
        const decision = this.#decisions[this.asked.length] ?? 'Rejected';
        const { action } = pendingApproval;
        this.asked.push(pendingApproval);
        const orderRef = { name: `no-${this.asked.length}` };
        this.#said.push({ action, decision, orderRef, requester: 'ann', at: '2030-01-01T00:00:00Z' });
      }
      context.report(change, options);
    };
    return { ...context, approvals: () => this.#said, report };
  }
}

describe('an attempt that fails after its push', () => {
  interface Played {
    readonly context: AttemptContext;
    /** Questions to a person, who approves. */
    readonly asked: readonly string[];
    /** The remote's content, and whether the effect was in the log, each time an intent had to be durable. */
    readonly intents: readonly (readonly [remote: string, planned: boolean])[];
  }

  async function play(policy: object): Promise<Played> {
    const intents: [string, boolean][] = [];
    const person = new Person(['Approved']);
    const context: AttemptContext = {
      ...person.with(begin(await recording(), policy, [{ name: 'never', command: ['false'] }]).context),
      intentDurable: () => {
        intents.push([log(), sandbox.notes.some(({ kind }) => kind === 'EffectPlanned')]);
        return Promise.resolve();
      },
    };
    expect(await bed.run({ context })).toMatchObject({ result: 'Failed' });
    return { context, asked: person.asked.map(({ summary }) => summary), intents };
  }

  test('Permissive: a person is asked first, the intent is durable before the push, and a rollback takes it back', async () => {
    const { context, asked, intents } = await play({ profile: 'Permissive', approvals });
    expect(asked).toEqual([expect.stringContaining(push)]);
    expect(log()).toBe('repaired\nfirst\n');
    expect(intents.at(-1)).toEqual(['first\n', true]);
    expect(await bed.rollBack({ context })).toMatchObject({ verified: true });
    expect(log()).toBe('first\n');
  });

  test('Privileged: gate 2 decides, and its yes is one to the way back', async () => {
    const { context, asked } = await play({ profile: 'Privileged' });
    expect([asked, log()]).toEqual([[], 'repaired\nfirst\n']);
    const restored = await bed.rollBack({ context });
    expect(restored.irreversible ?? []).toEqual([]);
    expect(log()).toBe('first\n');
  });

  test.each([
    ['Permissive without anybody to ask', { profile: 'Permissive' }, 0.9],
    ['Privileged with one no of gate 2', { profile: 'Privileged' }, 0.05],
    ['Default', { profile: 'Default', approvals }, 0.9],
    ['Strict', { profile: 'Strict', approvals }, 0.9],
  ])('%s: nothing is pushed, and no person is asked', async (_, policy, pSuccess) => {
    parts.script.pSuccess = () => pSuccess;
    const { asked } = await play(policy);
    expect([asked, log(), tried(sandbox).map(({ result }) => result)]).toEqual([[], 'first\n', ['Denied']]);
  });
});

describe('a worker that continues from the log of one that died after its push', () => {
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

  /** Runs one worker; with `last` it dies when that call is done. */
  async function work(run: AttemptRun, person: Person, pushes: string[], last: Last = () => false): Promise<Outcome> {
    const { context } = run;
    const keeper = new Proxy(sandbox.client, {
      get(target, name: string) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return async (...args: readonly unknown[]): Promise<unknown> => {
          context.signal.throwIfAborted();
          if (isPush(name, args[0])) pushes.push(push);
          const answer: unknown = await (method.apply(target, args) as Promise<unknown>);
          if (last(name, args[0])) run.abort('Lost');
          context.signal.throwIfAborted();
          return answer;
        };
      },
    });
    const events: KeeperClient['events'] = (from) => sandbox.client.events(from);
    const own = new Proxy(keeper, { get: (target, name) => (name === 'events' ? events : (Reflect.get(target, name) as unknown)) });
    return bed.run({ context: person.with({ ...context, keeper: own }) });
  }

  /** Two workers, one after the other; the first one dies. */
  async function play(policy: object, last: Last, decisions: readonly Approval['decision'][] = ['Approved']) {
    const url = await recording();
    const pushes: string[] = [];
    const person = new Person(decisions);
    await expect(work(begin(url, policy), person, pushes, last)).rejects.toBe('Lost');
    expect(pushes).toHaveLength(1);
    return { outcome: await work(begin(url, policy), person, pushes), pushes: pushes.length, asked: person.asked };
  }
  const why = (): readonly string[] => tried(sandbox).map((note) => (note as unknown as { readonly why: string }).why);

  test('asks a person again about a push with an unobserved end', async () => {
    const { asked, pushes, outcome } = await play({ profile: 'Permissive', approvals }, isPush);
    expect(outcome).toMatchObject({ result: 'Failed', class: 'ApprovalRejected' });
    expect([pushes, log(), asked.length]).toEqual([1, 'repaired\nfirst\n', 2]);
    expect(asked[1]?.action).not.toBe(asked[0]?.action);
    expect(asked[1]?.evidence).toMatch(/an earlier worker began its commands and their end was not seen: they may be done/);
  });

  test('repeats a push with an unobserved end when a person approves it', async () => {
    const { pushes } = await play({ profile: 'Permissive', approvals }, isPush, ['Approved', 'Approved']);
    expect(pushes).toBe(2);
  });

  test('does not repeat a push with an unobserved end where no person can be asked', async () => {
    const { pushes, outcome } = await play({ profile: 'Privileged' }, isPush);
    expect(outcome).toMatchObject({ result: 'Failed', class: 'Stuck' });
    expect([pushes, why()]).toEqual([1, [expect.stringMatching(/^an earlier worker began its commands/)]]);
  });

  test.each([
    ['while its checks ran', checkAfterPush],
    ['when it had told that all checks hold', () => isTried],
  ])('goes on from the snapshot of a push that is done, where the first died %s', async (_, last) => {
    const { asked, pushes, outcome } = await play({ profile: 'Permissive', approvals }, last());
    expect(outcome).toMatchObject({ result: 'Succeeded' });
    expect([pushes, asked.length, log()]).toEqual([1, 1, 'repaired\nfirst\n']);
  });
});
