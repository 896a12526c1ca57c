import type { AgentTask } from '@agentfleet/protocol/api';
import type { ReplayFile } from '@agentfleet/protocol/inference';
import { expect, test } from 'vitest';
import { applyRecording, brokenPromises, condition, recorded, useFleet } from './fleet.ts';
import { wrongSign } from '../loop/tasks.ts';
import type { Repository } from './repositories.ts';

/**
 * A pool with layers and rules that ask before reaching out: a task pushes after a person's yes, fails, and leaves neither
 * the tree nor the remote as its agent made them.
 */
const repository: Repository = { files: Object.entries(wrongSign.files).map(([path, content]) => ({ path, content })) };
const goal = 'Repair it and push.';
const commands = ["sed -i 's/a - b/a + b/' calc.py", 'git commit -qam repaired', 'git push origin main'];
const acts = commands.map((command) => ({ tool: 'Shell', command }) as const);
const recording: ReplayFile = {
  format: 'agentfleet.dev/replay/v1',
  records: [{ goal, steps: [[{ edits: [], acts, weight: 1, operator: 'recorded', rationale: 'as recorded' }]] }],
};
/** Outside of snapshots, like any remote. */
const remote = '/tmp/remote.git';
const clone = `git init -q -b main . && git config user.email a@example.org && git config user.name a && git add -A && git commit -qm first &&
git clone -q --bare . ${remote} && git remote add origin ${remote} && git fetch -q origin`;

const fleet = useFleet('layers', {
  podSecurity: 'privileged',
  pool: {
    experts: [recorded],
    sandbox: { snapshotEngine: 'Overlay' },
    policy: { profiles: ['Default', 'Permissive'] },
  },
  before: (made) => applyRecording(made, recording),
});

/** Returns the tree by other programs than the keeper's: names, kinds, modes, times, contents; and the content of the remote. */
async function looksLike({ status }: AgentTask): Promise<{ readonly tree: string; readonly remote: string }> {
  const inTools = (line: string): Promise<string> =>
    fleet.run('exec', status?.assignment?.sandbox ?? '', '-c', 'tools', '--', 'sh', '-c', line);
  const tree =
    'cd /workspace && { find . -mindepth 1 -printf "%p %y %m %T@ %l\\n" | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum; }';
  return { tree: await inTools(tree), remote: await inTools(`git -C ${remote} log --format=%s main`) };
}

test('a pool with layers takes back a push that a person allowed, and the tree to the byte', async () => {
  await fleet.task('push', repository, {
    goal,
    setup: [{ name: 'clone', command: ['sh', '-c', clone] }],
    checks: [
      { name: 'unit', command: ['python3', '-m', 'unittest', '-v'] },
      { name: 'never', command: ['false'] },
    ],
    policy: {
      profile: 'Permissive',
      network: { mode: 'Allowed', hosts: [{ host: 'git.example.com', port: 443 }] },
      approvals: { require: ['External'], timeoutSeconds: 600 },
    },
    retention: { sandboxSeconds: 600 },
  });
  const waiting = await fleet.until('push', 'waits', 120, (state) => condition(state, 'AwaitingApproval')?.status === 'True');
  const { action, summary } = waiting.status?.run?.pendingApproval ?? {};
  expect(summary).toContain('git push origin main');
  const hostUsers = ['-o', 'jsonpath={.spec.hostUsers}'];
  expect(await fleet.run('get', 'pod', waiting.status?.assignment?.sandbox ?? '', ...hostUsers)).toBe('false');
  const before = await looksLike(waiting);
  expect(before.remote.trim()).toBe('first');

  const requester = await fleet.kubectl.text(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}']);
  await fleet.apply('AgentTaskOrder', 'yes', { taskRef: { name: 'push' }, type: 'Approve', action, requester });
  const task = await fleet.finished('push', 180);
  expect(task.status?.phase, await fleet.explain('push')).toBe('Failed');
  expect(condition(task, 'RolledBack')).toMatchObject({ status: 'True' });
  expect(task.status?.run?.isolation).toMatchObject({ level: 'UserNamespace' });
  expect(task.status?.run?.snapshots).toMatchObject({ initial: task.status?.run?.rollback?.snapshot });
  expect(task.status?.run?.rollback).toMatchObject({ verified: true, manifestDigest: expect.stringMatching(/./) as string });
  expect(task.status?.run?.rollback?.irreversible ?? []).toEqual([]);
  // The undone change had been made.
  expect(task.status?.run?.patch).toContain('+    return a + b');
  expect(await looksLike(task)).toEqual(before);
  expect(brokenPromises(fleet, 'push')).toEqual([]);
});

test('a task cannot have rules that its pool does not list', async () => {
  await fleet.task('privileged', repository, { policy: { profile: 'Privileged' } });
  const task = await fleet.until('privileged', 'refused', 30, (state) => condition(state, 'Accepted')?.status === 'False');
  expect(condition(task, 'Accepted')).toMatchObject({ reason: 'PolicyProfileNotAllowed' });
});
