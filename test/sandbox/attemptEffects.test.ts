import { execFileSync } from 'node:child_process';
import type { Experts } from '@agentfleet/agent/attempt';
import type { AgentTaskSpec, Approval } from '@agentfleet/protocol/api';
import type { Candidate, GenerateResponse } from '@agentfleet/protocol/inference';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { taskFor } from '../loop/loopBed.ts';
import { wrongSign } from '../loop/tasks.ts';
import { AttemptBed, type Run } from './attemptBed.ts';
import { eventually, shell, useNamespace } from './harness.ts';

/** An attempt of the real engine pushes to a repository outside of the snapshots' roots; the effect of a rollback on it. */
const bench = useNamespace('pushed');
let bed: AttemptBed;
beforeAll(async () => {
  bed = await AttemptBed.open();
});
afterAll(() => bed[Symbol.asyncDispose]());

const remote = '/tmp/remote.git';
const commands = ["sed -i 's/a - b/a + b/' calc.py", 'git commit -qam repaired', 'git push origin main'];

const clone = `git init -q -b main . && git config user.email a@example.org && git config user.name a && git add -A && git commit -qm first &&
git clone -q --bare . ${remote} && git remote add origin ${remote} && git fetch -q origin`;

/** One check is repaired, the other one never holds: the attempt fails after its push, without a proof in a fresh container. */
const spec = {
  ...taskFor(wrongSign.files, wrongSign.command),
  setup: [{ name: 'clone', command: ['sh', '-c', clone] }],
  checks: [
    { name: 'unit', command: ['python3', '-m', 'unittest', '-v'], timeoutSeconds: 10 },
    { name: 'never', command: ['false'] },
  ],
  policy: {
    profile: 'Permissive',
    network: { mode: 'Allowed', hosts: [{ host: 'git.example.com', port: 443 }] },
    approvals: { require: ['External'], timeoutSeconds: 900 },
  },
} as unknown as Partial<AgentTaskSpec>;

/** An expert that proposes the commands once. */
const pushing: Experts = {
  choose: () => bed.expert,
  generate: (_expert, { requestId, exclude }) => {
    const id = `sha256:${'1'.repeat(64)}`;
    const acts = commands.map((command) => ({ tool: 'Shell', command }) as const);
    const location = { path: 'calc.py', line: 1, column: 0 };
    const one: Candidate = { id, rank: 1, score: 1, edits: [], acts, operator: 'recorded', rationale: 'as recorded', location };
    const candidates = exclude.includes(id) ? [] : [one];
    const stats = { parsed: 1, considered: candidates.length, millis: 0 };
    const rest = { returnedMass: 1, exhausted: true, truncated: false, entropyNats: 0, margin: null, stats };
    const modelDigest = `sha256:${'0'.repeat(64)}`;
    return Promise.resolve({ requestId, engine: 'Replay', modelDigest, candidates, ...rest } satisfies GenerateResponse);
  },
};

/** Runs the attempt; a person allows its push. */
async function pushed(sandbox: Sandbox): Promise<void> {
  const run = bed.begin(sandbox, { spec, experts: pushing });
  const outcome = bed.engine.run(run.context);
  await eventually('it waits', 60, () => Promise.resolve(run.reported.pendingApproval !== undefined));
  const { action = '', summary } = run.reported.pendingApproval ?? {};
  expect(summary).toContain('git push origin main');
  const said: Approval = { action, decision: 'Approved', orderRef: { name: 'yes' }, requester: 'ann', at: '2030-01-01T00:00:00Z' };
  run.decide(said);
  expect(await outcome).toMatchObject({ result: 'Failed' });
  expect(await log(sandbox)).toBe('repaired\nfirst\n');
}

const log = async (sandbox: Sandbox): Promise<string> => (await shell(sandbox, `git -C ${remote} log --format=%s main`)).stdout;

/** Returns the external effects in a run's stored revert bundle. */
async function external({ reported }: Run): Promise<unknown> {
  const uri = reported.artifacts?.find(({ name }) => name === 'revert.tar')?.uri ?? '';
  const tar = await bed.store.get(uri.replace('pvc://artifacts/', ''));
  const text = execFileSync('tar', ['-xOf', '-', '--wildcards', '*description.json'], { input: tar, encoding: 'utf8' });
  return (JSON.parse(text) as { external: unknown }).external;
}

test('a push of an attempt is compensated by its rollback, and the bundle reports it', { timeout: 360_000 }, async () => {
  const sandbox = await bench.open();
  await pushed(sandbox);
  const rollback = bed.begin(sandbox, { spec });
  const restored = await bed.engine.rollback(rollback.context, 'Initial');
  expect(restored).toMatchObject({ verified: true });
  expect(restored.irreversible ?? []).toEqual([]);
  expect(await log(sandbox)).toBe('first\n');
  expect(await external(rollback)).toMatchObject([
    { target: 'git push origin main', state: 'Undone', undo: expect.stringMatching(/--force-with-lease=refs\/heads\/main:/) as string },
  ]);
});

test('a push that was pushed over stays, and is reported with its compensation', { timeout: 360_000 }, async () => {
  const sandbox = await bench.open();
  await pushed(sandbox);
  const theirs = `git clone -q ${remote} /tmp/theirs && cd /tmp/theirs && git -c user.name=b -c user.email=b@example.org commit -q --allow-empty -m theirs && git push -q origin main`;
  expect((await shell(sandbox, theirs)).end.exitCode).toBe(0);
  const rollback = bed.begin(sandbox, { spec });
  const restored = await bed.engine.rollback(rollback.context, 'Initial');
  expect(restored).toMatchObject({ verified: true });
  expect(restored.irreversible?.[0]).toMatch(/^git push origin main stands: its way back ended with 1; take it back with: git push/);
  expect(await log(sandbox)).toBe('theirs\nrepaired\nfirst\n');
  expect(await external(rollback)).toMatchObject([{ target: 'git push origin main', state: 'Done' }]);
});
