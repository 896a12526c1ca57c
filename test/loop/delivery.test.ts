import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startGitServer, type GitServer } from '../../agent-image/src/workspace/testing/gitServer.ts';
import { TestRepository } from '../../agent-image/src/workspace/testing/repository.ts';
import { runnerOfTests, type AgentBed, type Reply } from './agentBed.ts';
import { beginDelivery, branch, openDeliveryBed, project, repair, tokenFile, writeToken } from './deliveryBed.ts';
import type { AttemptRun } from './loopBed.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

/** Whole attempts whose result is delivered to a bare repository behind a private authority, and to a simulated forge. */
const { binary, describe } = await runnerOfTests();
const sh = promisify(execFile);
const token = 'correct-horse';
const url = (server: GitServer): string => `${server.origin}/team/app.git`;

/** A forge that keeps pull requests, as Gitea shows them. */
class FakeForge {
  readonly opened: { readonly html_url: string; readonly state: string; readonly body: string; readonly head: { readonly ref: string } }[] =
    [];
  /** Called before a pull request is answered. */
  onOpen: () => void = () => undefined;
  /** Status of whatever opens one; 201: it is opened. */
  answers = 201;
  writes = true;

  readonly handle = (request: IncomingMessage, response: ServerResponse): boolean => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'https://server');
    const push = pathname.endsWith('git-receive-pack') || searchParams.get('service') === 'git-receive-pack';
    const known = request.headers.authorization?.includes(Buffer.from(`git:${token}`).toString('base64')) === true;
    if (push && !known) return end(response.setHeader('www-authenticate', 'Basic realm="git"'), 401, {});
    if (push && !this.writes) return end(response, 403, {});
    if (!pathname.startsWith('/api/')) return false;
    if (pathname === '/api/v1/version') return end(response, 200, { version: '1.25.2' });
    if (request.headers.authorization !== `token ${token}`) return end(response, 401, { message: 'token is required' });
    if (request.method === 'GET') return end(response, 200, this.opened);
    void read(request).then((body) => {
      this.onOpen();
      if (this.answers !== 201) return end(response, this.answers, { message: 'user should have a permission' });
      const { head, body: text } = body as { readonly head: string; readonly body: string };
      this.opened.push({ html_url: 'https://forge/team/app/pulls/1', state: 'open', body: text, head: { ref: head } });
      return end(response, 201, this.opened.at(-1));
    });
    return true;
  };
}

function end(response: ServerResponse, status: number, body: unknown): true {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  return true;
}

async function read(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString('utf8'));
}

describe('delivery', () => {
  let folder: string;
  let bare: string;
  let server: GitServer;
  let forge: FakeForge;
  let bed: AgentBed;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'delivery-'));
    const work = await TestRepository.create(join(folder, 'work'));
    for (const [path, content] of Object.entries(project)) await work.write(path, content);
    await work.commit('first');
    bare = join(folder, 'root', 'team', 'app.git');
    await sh('git', ['clone', '--quiet', '--bare', work.folder, bare]);
    await sh('git', ['-C', bare, 'config', 'http.receivepack', 'true']);
    forge = new FakeForge();
    server = await startGitServer(folder, join(folder, 'root'), forge.handle);
    bed = await openDeliveryBed(binary, folder, server);
    await writeToken(folder, token);
  });
  afterEach(async () => {
    await bed[Symbol.asyncDispose]();
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  const begin = (output: object = { pullRequest: {} }, replies: readonly Reply[] = repair, check?: readonly string[]): AttemptRun =>
    beginDelivery(bed, { url: url(server), folder, replies, output, ...(check !== undefined && { check }) });

  const git = async (...args: string[]): Promise<string> => (await sh('git', ['-C', bare, ...args])).stdout.trim();
  const pushes = (): number => server.requests.filter((line) => line.startsWith('POST') && line.includes('git-receive-pack')).length;

  test('pushes a commit of the change on the base, without ignored files, and opens a pull request', async () => {
    const run = begin({ pullRequest: { title: 'Repair the sign' } });
    expect(await bed.engine.run(run.context)).toMatchObject({ result: 'Succeeded' });
    const commit = await git('rev-parse', branch);
    expect(run.reported.output).toEqual({ branch, commit, pullRequest: 'https://forge/team/app/pulls/1' });
    expect(await git('diff', '--name-status', 'main', branch)).toBe('M\tcalc.py\nA\tdocs/link\nA\tdocs/new.md\nD\told.txt');
    expect(await git('ls-tree', branch, 'docs/link')).toContain('120000 blob');
    expect(await git('log', '--format=%s%n%(trailers)', `main..${branch}`)).toBe(
      'Repair the sign\nAgentFleet-Task: team/task\nAgentFleet-Task-UID: uid-of-task',
    );
    expect(forge.opened).toHaveLength(1);
    expect(forge.opened[0]?.body).toContain('```text\nThe sign was wrong, ask @everyone.\n```');
    const kinds = (await bed.notes()).flatMap(({ kind, data }) =>
      kind.startsWith('Effect') ? [`${kind} ${String(data['kind'] ?? data['outcome'])}`] : [],
    );
    expect(kinds).toEqual(['EffectPlanned Branch', 'EffectEnded Done', 'EffectPlanned PullRequest', 'EffectEnded Done']);
    expect(JSON.stringify(await bed.notes())).not.toContain(token);
  });

  test('finds the pull request of a request that the server had taken for lost, when it refuses the next one', async () => {
    forge.answers = 409;
    forge.onOpen = () => forge.opened.push({ html_url: 'https://forge/team/app/pulls/1', state: 'open', body: '', head: { ref: branch } });
    const run = begin();
    expect(await bed.engine.run(run.context)).toMatchObject({ result: 'Succeeded' });
    expect(run.reported.output).toEqual({
      branch,
      commit: await git('rev-parse', branch),
      pullRequest: 'https://forge/team/app/pulls/1',
    });
  });

  test.each(['sign.log', 'data/.GIT/sign', 'data/.git/sign'])(
    'is of what was proved: a change that needs %s, which no commit holds, proves nothing',
    async (path) => {
      const text = `from pathlib import Path\n\nSIGN = int(Path("${path}").read_text())\n\n\ndef add(a, b):\n    return a + SIGN * b\n`;
      const calc = (await git('show', 'main:calc.py')) + '\n';
      const replies: readonly Reply[] = [
        { calls: [['bash', { command: `mkdir -p $(dirname ${path}) && echo 1 > ${path}` }]] },
        { calls: [['edit_file', { path: 'calc.py', old_text: calc, new_text: text }]] },
        { calls: [['submit', { answer: 'done' }]] },
      ];
      const run = begin({}, replies);
      const outcome = await bed.engine.run(run.context);
      expect([outcome.result, pushes()]).toEqual(['Failed', 0]);
      expect(JSON.stringify(await bed.notes())).toContain(`without what the repository leaves out of commits (${path}`);
    },
  );

  test('is of what was proved: no commit holds an empty folder', async () => {
    const text = 'from pathlib import Path\n\nSIGN = 1 if Path("a/b").is_dir() else -1\n\n\ndef add(a, b):\n    return a + SIGN * b\n';
    const replies: readonly Reply[] = [
      {
        calls: [
          [
            'bash',
            { command: 'mkdir -p a/b full && mkdir -m 777 full/e && echo x > full/x && ln -s full l && touch run && chmod 777 run' },
          ],
        ],
      },
      { calls: [['edit_file', { path: 'calc.py', old_text: `${await git('show', 'main:calc.py')}\n`, new_text: text }]] },
      { calls: [['submit', { answer: 'done' }]] },
    ];
    const run = begin({}, replies);
    expect([(await bed.engine.run(run.context)).result, pushes()]).toEqual(['Failed', 0]);
    expect(JSON.stringify(await bed.notes())).toContain('without what the repository leaves out of commits (a, a/b, full/e)');
  });

  test.each([
    ['between push and pull request', 'intent'],
    ['when the pull request is open and nobody noted it', 'open'],
  ])('a worker that dies %s leaves one of each to the next one', async (_, when) => {
    const first = begin();
    let intents = 0;
    const dying = {
      ...first.context,
      intentDurable: () => {
        intents += 1;
        if (when === 'intent' && intents === 2) first.abort('Lost');
        first.context.signal.throwIfAborted();
        return Promise.resolve();
      },
    };
    if (when === 'open') forge.onOpen = () => first.abort('Lost');
    await expect(bed.engine.run(dying)).rejects.toBe('Lost');
    expect([pushes(), forge.opened.length]).toEqual([1, when === 'open' ? 1 : 0]);
    const commit = await git('rev-parse', branch);
    const second = begin();
    expect(await bed.engine.run(second.context)).toMatchObject({ result: 'Succeeded' });
    expect(second.reported.output).toEqual({ branch, commit, pullRequest: 'https://forge/team/app/pulls/1' });
    expect([pushes(), forge.opened.length, await git('rev-parse', branch)]).toEqual([1, 1, commit]);
  });

  const noChange: readonly Reply[] = [
    { calls: [['bash', { command: 'sed -i "s/a - b/a + b/" calc.py' }]] },
    { calls: [['submit', { answer: 'done' }]] },
  ];

  interface Expected {
    readonly reason: string;
    readonly message?: RegExp;
    /** The branch got its commit. */
    readonly pushed?: boolean;
  }

  test.each<[string, () => Promise<unknown> | void, object, Expected]>([
    [
      'somebody else is on the branch',
      () => git('branch', branch, 'main'),
      {},
      { reason: 'BranchMoved', message: /delete the branch, or name another/ },
    ],
    [
      'the branch is that of the repository',
      () => undefined,
      { branch: 'main' },
      { reason: 'BranchMoved', message: /nothing was overwritten/ },
    ],
    [
      'the branch is protected',
      () =>
        writeFile(join(bare, 'hooks', 'pre-receive'), '#!/bin/sh\necho "GH006: Protected branch update failed"\nexit 1\n', { mode: 0o755 }),
      {},
      { reason: 'BranchProtected', message: /name another one in spec\.output\.git\.branch/ },
    ],
    ['the token may not push', () => void (forge.writes = false), {}, { reason: 'AccessDenied', message: /right to write the repository/ }],
    ['the token is wrong', () => writeFile(tokenFile(folder), 'other'), {}, { reason: 'AuthenticationRequired' }],
    [
      'the pool has no such credential',
      () => undefined,
      { credential: 'nobody' },
      { reason: 'CredentialNotFound', message: /spec\.output\.git\.credential/ },
    ],
    [
      'the token may not open pull requests',
      () => void (forge.answers = 403),
      {},
      { reason: 'AccessDenied', message: /write:repository/, pushed: true },
    ],
    [
      'nothing says what the forge is',
      () => undefined,
      { pullRequest: { forge: 'GitLab' } },
      { reason: 'AuthenticationRequired', pushed: true },
    ],
  ])('%s: the result stays good, and the report says why and what helps', async (_, prepare, own, expected) => {
    await prepare();
    const run = begin({ pullRequest: {}, ...own }, noChange);
    expect(await bed.engine.run(run.context)).toMatchObject({ result: 'Succeeded' });
    const { reason, message = /./, pushed = false } = expected;
    expect(run.reported.output).toMatchObject({ reason, message: expect.stringMatching(message) as string });
    expect(run.reported.output?.commit !== undefined).toBe(pushed);
    expect(forge.opened).toEqual([]);
  });

  const vendored = (line: string): readonly Reply[] => [
    { calls: [['bash', { command: line }]] },
    { calls: [['submit', { answer: 'done' }]] },
  ];
  test.each([
    ['beside other files', 'sed -i "s/a - b/a + b/" calc.py && echo 2 > vendor/lib/a.c && echo 1 > vendor/lib/new.c', ['calc.py']],
    ['alone', 'echo 2 > vendor/lib/a.c && rm vendor/lib/old.c && echo 1 > vendor/lib/new.c', null],
  ])('files below a submodule are left out and named, %s', async (_, line, delivered) => {
    const work = join(folder, 'submodule');
    await sh('git', ['clone', '--quiet', bare, work]);
    await sh('git', ['-C', work, 'update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},vendor/lib`]);
    await sh('git', ['-C', work, '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '-m', 'submodule']);
    await sh('git', ['-C', work, 'push', '--quiet', 'origin', 'main']);
    const setup = 'mkdir -p vendor/lib && echo 1 > vendor/lib/a.c && echo 1 > vendor/lib/old.c';
    const check = ['test', '-f', 'vendor/lib/new.c'];
    const run = beginDelivery(bed, { url: url(server), folder, replies: vendored(line), output: { pullRequest: {} }, setup, check });
    expect(await bed.engine.run(run.context)).toMatchObject({ result: 'Succeeded' });
    const { output } = run.reported;
    expect(output?.message).toContain('vendor/lib/a.c');
    expect(output?.message).toContain('vendor/lib/new.c');
    expect([output?.reason, pushes()]).toEqual(delivered === null ? ['NothingToDeliver', 0] : [undefined, 1]);
    if (delivered === null) return;
    expect((await git('diff', '--name-only', 'main', branch)).split('\n')).toEqual(delivered);
    expect(await git('ls-tree', branch, 'vendor/lib')).toContain('160000 commit');
    expect(forge.opened[0]?.body).toContain('```text\nvendor/lib/a.c\nvendor/lib/new.c\n```');
  });

  test('a result that changes nothing of the repository pushes nothing', async () => {
    const only: readonly Reply[] = [
      { calls: [['bash', { command: 'echo x > a.log' }]] },
      { calls: [['submit', { answer: 'nothing to do' }]] },
    ];
    const run = begin({}, only, ['test', '-f', 'a.log']);
    expect(await bed.engine.run(run.context)).toMatchObject({ result: 'Succeeded' });
    expect(run.reported.output).toMatchObject({ branch, reason: 'NothingToDeliver' });
    expect(pushes()).toBe(0);
  });
});
