import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { installCli } from '../../hack/cli.ts';
import type { ReplayFile } from '@agentfleet/protocol/inference';
import { applyRecording, brokenPromises, condition, recorded, useFleet } from './fleet.ts';
import type { Repository } from './repositories.ts';

/** Its test demands that a folder is removed, which only a command can do. */
const retired: Repository = {
  files: [
    { path: 'legacy/old.py', content: 'X = 1\n' },
    { path: 'tests/__init__.py', content: '' },
    {
      path: 'tests/test_layout.py',
      content: `import pathlib
import unittest


class Layout(unittest.TestCase):
    def test_it_runs(self):
        self.assertTrue(True)

    def test_gone(self):
        self.assertFalse((pathlib.Path(__file__).resolve().parent.parent / "legacy").exists())
`,
    },
  ],
};

const goal = 'Remove what is retired.';
const act = { tool: 'Shell', command: 'rm -r legacy' } as const;
const recording: ReplayFile = {
  format: 'agentfleet.dev/replay/v1',
  records: [{ goal, steps: [[{ edits: [], acts: [act], weight: 1, operator: 'recorded', rationale: 'delete it' }]] }],
};

const fleet = useFleet('approve', { pool: { experts: [recorded] }, before: (made) => applyRecording(made, recording) });

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentfleet-cli-'));
  await installCli(folder);
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs a person's command; resolves with its output, on both streams, and its exit code. */
async function kubectlFleet(...args: readonly string[]): Promise<{ readonly code: number | undefined; readonly output: string }> {
  const { access } = fleet.kubectl;
  const where = ['-n', fleet.namespace, '--kubeconfig', access.kubeconfig, '--context', access.context];
  const env = { PATH: `${folder}:${process.env['PATH'] ?? ''}` };
  const { exitCode, all } = await execa(access.bin('kubectl'), ['fleet', ...args, ...where], { env, reject: false, all: true });
  return { code: exitCode, output: all };
}

async function waiting(name: string, timeoutSeconds = 600): Promise<void> {
  const policy = { approvals: { require: ['Destructive'], timeoutSeconds } };
  await fleet.task(name, retired, { goal, policy });
  const task = await fleet.until(name, 'waits', 90, (state) => condition(state, 'AwaitingApproval')?.status === 'True');
  expect(task.status?.phase).toBe('AwaitingApproval');
  expect(task.status?.run?.pendingApproval?.summary).toContain('rm -r legacy');
}

describe('an act that needs a person', () => {
  test('is done after an approval, and the status names the person', async () => {
    await waiting('approved');
    const said = await kubectlFleet('approve', 'approved', '--reason', 'it is retired');
    expect(said.code, said.output).toBe(0);
    const task = await fleet.finished('approved');
    expect(task.status?.phase, await fleet.explain('approved')).toBe('Succeeded');
    expect(task.status?.approvals).toMatchObject([{ decision: 'Approved', requester: expect.stringMatching(/./) as string }]);
    expect(task.status?.run?.patch).toContain('legacy/old.py');
    expect(brokenPromises(fleet, 'approved')).toEqual([]);
  });

  test('is not done after a rejection', async () => {
    await waiting('rejected');
    const said = await kubectlFleet('reject', 'rejected', '--reason', 'we need it');
    expect(said.code, said.output).toBe(0);
    const task = await fleet.finished('rejected');
    expect(task.status?.phase, await fleet.explain('rejected')).toBe('Failed');
    expect(task.status?.run?.outcome).toMatchObject({ class: 'ApprovalRejected' });
    expect(condition(task, 'RolledBack')).toMatchObject({ status: 'True' });
  });

  test('is not done without an answer in time', async () => {
    await waiting('unanswered', 3);
    const task = await fleet.finished('unanswered');
    expect(task.status?.run?.outcome, await fleet.explain('unanswered')).toMatchObject({ class: 'ApprovalRejected' });
    expect(task.status?.approvals?.[0]?.orderRef).toBeUndefined();
  });

  test('outlives the worker that asked', async () => {
    await waiting('handed-over');
    await fleet.run('delete', 'pod', '-l', 'agentfleet.dev/component=worker', '--grace-period=0', '--force');
    await fleet.until('handed-over', 'another epoch waits', 120, ({ status }) => {
      return status?.assignment?.epoch === 2 && status.run?.epoch === 2 && status.run.pendingApproval !== undefined;
    });
    const said = await kubectlFleet('approve', 'handed-over');
    expect(said.code, said.output).toBe(0);
    expect((await fleet.finished('handed-over')).status?.phase, await fleet.explain('handed-over')).toBe('Succeeded');
  });
});
