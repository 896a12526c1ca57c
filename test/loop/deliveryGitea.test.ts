import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { freePort } from '../../hack/cluster/base/ports.ts';
import { runnerOfTests, type AgentBed } from './agentBed.ts';
import { beginDelivery, branch, openDeliveryBed, project, repair, writeToken } from './deliveryBed.ts';
import type { AttemptRun } from './loopBed.ts';
import { Gitea } from './giteaServer.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 3_600_000 });

/** Whole attempts whose result becomes a pull request of a real Gitea, in long runs: it is built from its Go module. */
const { binary, describe } = await runnerOfTests(process.env['AGENTFLEET_FULL'] === '1');

interface PullRequest {
  readonly number: number;
  readonly title: string;
  readonly body: string;
  readonly state: string;
  readonly merged: boolean;
  readonly html_url: string;
  readonly head: { readonly ref: string; readonly sha: string };
  readonly base: { readonly ref: string };
}

describe('delivery to Gitea', () => {
  let gitea: Gitea;
  let folder: string;
  let bed: AgentBed;
  let name: string;
  let url: string;
  let made = 0;

  beforeAll(async () => {
    gitea = await Gitea.start(await freePort());
  });
  afterAll(() => gitea[Symbol.asyncDispose]());
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'delivery-gitea-'));
    name = `app-${(made += 1)}`;
    url = await gitea.repository(name, project);
    bed = await openDeliveryBed(binary, folder, gitea);
    await writeToken(folder, gitea.token);
  });
  afterEach(async () => {
    await bed[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  const begin = (output: object = { pullRequest: {} }): AttemptRun =>
    beginDelivery(bed, { url, folder, replies: repair, output, workspace: { credential: 'robot' } });
  const pulls = (): Promise<readonly PullRequest[]> => gitea.api('GET', `/repos/robot/${name}/pulls?state=all`);

  test('a private repository gets a branch and a pull request, which can be merged', async () => {
    const run = begin({ pullRequest: { title: 'Repair the sign' } });
    expect(await bed.engine.run(run.context)).toMatchObject({ result: 'Succeeded' });
    const [pull] = await pulls();
    expect(run.reported.output).toEqual({ branch, commit: pull?.head.sha, pullRequest: pull?.html_url });
    expect(pull).toMatchObject({ title: 'Repair the sign', state: 'open', head: { ref: branch }, base: { ref: 'main' } });
    expect(pull?.body).toContain('<!-- agentfleet.dev/task: uid-of-task -->');
    const files = await gitea.api<readonly { readonly filename: string }[]>('GET', `/repos/robot/${name}/pulls/1/files`);
    expect(files.map(({ filename }) => filename).sort()).toEqual(['calc.py', 'docs/link', 'docs/new.md', 'old.txt']);
    await expect
      .poll(
        () =>
          gitea.api('POST', `/repos/robot/${name}/pulls/1/merge`, { Do: 'merge' }).then(
            () => true,
            () => false,
          ),
        { timeout: 60_000 },
      )
      .toBe(true);
    expect((await pulls())[0]).toMatchObject({ merged: true });
  });

  test('a worker that dies between push and pull request leaves one of each to the next one; a closed one is not opened again', async () => {
    const first = begin();
    let intents = 0;
    const dying = {
      ...first.context,
      intentDurable: () => {
        intents += 1;
        if (intents === 2) first.abort('Lost');
        first.context.signal.throwIfAborted();
        return Promise.resolve();
      },
    };
    await expect(bed.engine.run(dying)).rejects.toBe('Lost');
    expect(await pulls()).toEqual([]);
    const second = begin();
    expect(await bed.engine.run(second.context)).toMatchObject({ result: 'Succeeded' });
    const [pull, ...more] = await pulls();
    expect([more, second.reported.output?.pullRequest]).toEqual([[], pull?.html_url]);
    await gitea.api('PATCH', `/repos/robot/${name}/pulls/1`, { state: 'closed' });
    const third = begin();
    expect(await bed.engine.run(third.context)).toMatchObject({ result: 'Succeeded' });
    expect([third.reported.output?.pullRequest, (await pulls()).length]).toEqual([pull?.html_url, 1]);
  });

  test('a protected branch, a foreign branch and a token without rights are named with their cure', async () => {
    await gitea.api('POST', `/repos/robot/${name}/branch_protections`, { rule_name: 'agentfleet/*', enable_push: false });
    const closed = begin();
    expect(await bed.engine.run(closed.context)).toMatchObject({ result: 'Succeeded' });
    expect(closed.reported.output).toMatchObject({ reason: 'BranchProtected' });
    const theirs = begin({ branch: 'main', pullRequest: {} });
    expect(await bed.engine.run(theirs.context)).toMatchObject({ result: 'Succeeded' });
    expect(theirs.reported.output).toMatchObject({ reason: 'BranchMoved' });
    await writeToken(folder, await gitea.tokenFor('read:repository'));
    const reading = begin({ branch: 'other', pullRequest: {} });
    expect(await bed.engine.run(reading.context)).toMatchObject({ result: 'Succeeded' });
    expect(reading.reported.output).toMatchObject({ reason: 'AccessDenied' });
    expect(await pulls()).toEqual([]);
  });
});
