// What bad input gets: exit status, cause and cure, and never a stack trace.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { Conversation } from '@agentfleet/protocol/results';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { exitCodes } from './base/failure.ts';
import { ApiServer } from './testing/apiServer.ts';
import { fleet } from './testing/fleet.ts';

const patch = '--- a/x\n+++ b/x\n';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const artifact = { name: 'change.patch', bytes: patch.length, sha256: sha256(patch), uri: 's3://agents/team/one/u-one/1/change.patch' };
const ended = { phase: 'Succeeded', finished: 'true', run: { attempt: 1, epoch: 1, artifacts: [artifact] } };
const path = '/apis/results.agentfleet.dev/v1alpha1/namespaces/team/agenttasks/one';
const refusal = (code: number, reason: string, message: string) => ({
  code,
  body: { kind: 'Status', status: 'Failure', reason, message, code },
});

let api: ApiServer;
let folder = '';
beforeEach(async () => {
  api = await ApiServer.start();
  folder = await mkdtemp(join(tmpdir(), 'fleet-bad-'));
  api.addTask('one', { status: ended });
});
afterEach(async () => {
  await api[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** The API server answers like this below a path. */
const answering =
  (below: string, ...answer: Parameters<typeof refusal>) =>
  (): void => {
    api.refuse = (seen) => (seen.path.startsWith(below) ? refusal(...answer) : undefined);
  };
const group = '/apis/agentfleet.dev/';
const results = '/apis/results.agentfleet.dev/';
const notServed = [404, 'NotFound', 'the server could not find the requested resource'] as const;

const { failed, forbidden, notFound, unavailable } = exitCodes;

describe('bad input', () => {
  test.each<[string, () => void, readonly string[], number, RegExp]>([
    ['no permission for tasks', answering(group, 403, 'Forbidden', 'ann cannot get'), ['show', 'one'], forbidden, /agentfleet-viewer/],
    ['no quota', answering(group, 403, 'Forbidden', 'exceeded quota: q'), ['show', 'one'], forbidden, /raise the ResourceQuota/],
    [
      'no permission for results',
      answering(results, 403, 'Forbidden', 'ann cannot get'),
      ['patch', 'one'],
      forbidden,
      /agentfleet-viewer in namespace team/,
    ],
    ['an expired token', answering('/', 401, 'Unauthorized', 'Unauthorized'), ['patch', 'one'], forbidden, /log in again/],
    ['a cluster without AgentFleet', answering(group, ...notServed), ['tasks'], unavailable, /is AgentFleet installed/],
    [
      'no aggregation layer',
      answering(results, ...notServed),
      ['patch', 'one'],
      unavailable,
      /results\.enabled.*--endpoint and --credential-file/,
    ],
    [
      'a results server that is away',
      answering(results, 503, 'ServiceUnavailable', 'error trying to reach service'),
      ['patch', 'one'],
      unavailable,
      /fleet doctor/,
    ],
    [
      'a pool without workers',
      answering(results, 503, 'ServiceUnavailable', 'the workers cannot be reached'),
      ['artifacts', 'one', 'change.patch'],
      unavailable,
      /the workers cannot be reached/,
    ],
    [
      'an older server',
      answering(group, 400, 'BadRequest', 'strict decoding error: unknown field "spec.new"'),
      ['show', 'one'],
      unavailable,
      /different versions.*upgrade the chart/,
    ],
    [
      'an older results server',
      answering(results, 404, 'NotFound', 'there is nothing at this path'),
      ['logs', 'one', '-f'],
      0,
      /does not serve the results API/,
    ],
    ['a deleted task', () => api.tasks.clear(), ['patch', 'one'], notFound, /there is no AgentTask one in namespace team; look for it/],
    [
      'results that retention removed',
      answering(results, 404, 'NotFound', 'not in the storage of its pool any more'),
      ['patch', 'one'],
      notFound,
      /not in the storage/,
    ],
    ['an artifact that is none', () => undefined, ['artifacts', 'one', 'x'], notFound, /it has change\.patch/],
    [
      'content with another hash than the status has',
      () => void api.results.set(`${path}/artifacts/change.patch`, 'other'),
      ['patch', 'one'],
      failed,
      /is not change\.patch of AgentTask one/,
    ],
    [
      'an answer that is no JSON',
      () => void api.results.set(`${group}v1alpha1/namespaces/team/agenttasks/one`, '<html>'),
      ['show', 'one'],
      unavailable,
      /not JSON/,
    ],
    ['no such option', () => undefined, ['patch', 'one', '--none'], failed, /unknown option/],
  ])('%s: exit status, cause and cure', async (_, prepare, args, code, cause) => {
    prepare();
    const said = await fleet(api, args);
    expect(said.err).toMatch(cause);
    expect(said.code).toBe(code);
    expect(said.err).not.toMatch(/\n\s+at |node:internal/);
  });

  test('an older fleet: what it does not know of a task is no hindrance, and a version that is gone is named', async () => {
    const newer = {
      phase: 'Contemplating',
      finished: 'false',
      later: { x: 1 },
      conditions: [{ type: 'New', status: 'True', reason: 'Newest', message: 'of a later version' }],
    };
    api.addTask('new', { status: newer });
    for (const args of [['tasks'], ['show', 'new'], ['explain', 'new'], ['report', 'new'], ['get', 'new', '-o', 'json']]) {
      const { code, out, err } = await fleet(api, args);
      expect([args, code, out.includes('new'), code === 0 ? '' : err]).toEqual([args, 0, true, '']);
    }
    answering(group, 404, 'NotFound', '404 page not found')();
    const said = await fleet(api, ['tasks']);
    expect([said.code, said.err]).toEqual([unavailable, expect.stringContaining('does it serve agentfleet.dev/v1alpha1')]);
  });

  test.each([
    ['a branch that moved', 'BranchMoved', 'agentfleet/one holds a commit that this task did not push; delete it, or name another branch'],
    ['a token without rights', 'AccessDenied', 'the token may not push to https://git.example.com/a/b; give it the right to write'],
  ])('%s: the result is good, the exit status is not 0, and the cure is printed', async (_, reason, message) => {
    const output = { branch: 'agentfleet/one', reason, message };
    api.worker = () => ({ ...ended, run: { ...ended.run, patch, output } });
    const yaml = join(folder, 'task.yaml');
    const spec = { goal: 'go', workspace: { type: 'Git', git: { url: 'https://git.example.com/a/b', ref: 'main' } }, output: { git: {} } };
    await writeFile(yaml, JSON.stringify({ apiVersion: 'agentfleet.dev/v1alpha1', kind: 'AgentTask', metadata: { name: 'two' }, spec }));
    const { code, out, err } = await fleet(api, ['run', yaml, '--patch', join(folder, 'two.patch')]);
    expect(code).toBe(exitCodes.taskFailed);
    expect(out).toContain(`not delivered (${reason}): ${message}`);
    expect(err).toContain(`the result of AgentTask two is good, and was not delivered (${reason}): ${message}; "fleet patch two" has it`);
  });

  test('a server that is not there', async () => {
    const file = join(folder, 'config');
    const cluster = { server: 'http://127.0.0.1:1', 'insecure-skip-tls-verify': true };
    const users = [{ name: 'u', user: { token: 't' } }];
    const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
    const config = { apiVersion: 'v1', kind: 'Config', clusters: [{ name: 'c', cluster }], users, contexts, 'current-context': 'c' };
    await writeFile(file, JSON.stringify(config));
    const { code, err } = await fleet(api, ['tasks', '--kubeconfig', file]);
    expect(code).toBe(unavailable);
    expect(err).toMatch(/127\.0\.0\.1:1/);
    expect(err).not.toMatch(/\n\s+at /);
  });

  test('a folder of 2 GiB is refused without being read, with both cures', async () => {
    await mkdir(join(folder, 'src'));
    await using file = await open(join(folder, 'src', 'big.bin'), 'w');
    await file.truncate(2 * 1024 ** 3);
    const { code, err } = await fleet(api, ['run', '--from', join(folder, 'src'), '--check', 'true', 'go']);
    expect([code, api.tasks.size]).toEqual([failed, 1]);
    expect(err).toMatch(/big\.bin has 2147483648 bytes, and 262144 fit.*push it to an https remote, or name a smaller folder/s);
  });
});

describe('results by the API, without keys of a storage', () => {
  test('are read, held against their hash, and saved', async () => {
    api.results.set(`${path}/artifacts/change.patch`, patch);
    expect(await fleet(api, ['patch', 'one'])).toEqual({ code: 0, out: patch, err: '' });
    const to = join(folder, 'p');
    expect((await fleet(api, ['artifacts', 'one', 'change.patch', '--to', to])).out).toContain(`${patch.length} bytes, as the status says`);
  });

  test('logs print the conversation, with -f as it goes on, safe for a terminal; audit show has every record of a task that goes on', async () => {
    const at = '2030-01-01T00:00:01.000Z';
    const reply = { text: 'a\u001b[2J', calls: [{ id: 'c', name: 'bash', arguments: '{}' }] };
    const notes = [
      ['ModelAsked', { step: 1 }],
      ['ModelReplied', { step: 1, proposals: [reply], charged: {} }],
      ['ReplyChosen', { step: 1, index: 0 }],
      ['CallObserved', { step: 1, callId: 'c', tool: 'bash', text: 'one\ntwo', ok: false, refused: 'Protected' }],
    ];
    const records = notes.map(([kind, data], index) => ({ seq: index + 1, at, type: 'Noted', epoch: 1, body: { kind, data } }));
    const conversation = new Conversation();
    const lines = (all: readonly unknown[]): string => all.map((one) => `${JSON.stringify(one)}\n`).join('');
    api.results.set(`${path}/log`, lines(records));
    api.results.set(`${path}/conversation`, lines(records.flatMap((record) => conversation.read(record as unknown as AuditRecord) ?? [])));
    const said = String.raw`00:00:01 model, step 1, 0 tokens in, 0 out
         a\u{1b}[2J
         → bash {}
00:00:01 bash: refused by Protected
         one
         two
`;
    expect(await fleet(api, ['logs', 'one'])).toEqual({ code: 0, out: said, err: '' });
    expect(await fleet(api, ['logs', 'one', '-f'])).toEqual({ code: 0, out: said, err: '' });
    api.addTask('one', { status: { phase: 'Running', finished: 'false' } });
    const { code, out, err } = await fleet(api, ['audit', 'show', 'one']);
    expect([code, out.match(/ModelAsked|ModelReplied|CallObserved/g), out.includes('\u001b')]).toEqual([
      0,
      ['ModelAsked', 'ModelReplied', 'CallObserved'],
      false,
    ]);
    expect(err).toContain('the log of AgentTask one is not stored yet: nothing vouches for these 4 records');
    expect(JSON.parse((await fleet(api, ['audit', 'show', 'one', '--json'])).out)).toMatchObject({
      records: 4,
      items: [{ seq: 1 }, {}, {}, {}],
    });
  });

  test('logs have what an agent program printed, all lines of it, and what its children ran', async () => {
    const at = '2030-01-01T00:00:01.000Z';
    const printed = Array.from({ length: 40 }, (_, line) => `line ${line}`).join('\r\n');
    const data = { attempt: 1, round: 2, text: `\u001b[2J${printed}\n`, omitted: 7, dropped: 9 };
    const commands = [{ pid: 5, parent: 4, atMs: 1250, argv: ['sh', '-c', 'echo\u001b[2J\nrm x'] }];
    const bodies = [
      ['Noted', { kind: 'ProgramOutput', data }],
      ['ExecRequested', { execId: 'e', tool: 'ExecCode', argv: ['agent'], cwd: '/', network: 'Loopback' }],
      ['ExecEnded', { execId: 'e', exitCode: 0, durationMs: 2000, commands, moreCommands: 3 }],
    ] as const;
    const records = bodies.map(([type, body], index) => ({ seq: index + 1, at, type, epoch: 1, body, prev: '', hash: '' }));
    const conversation = new Conversation();
    const lines = (all: readonly unknown[]): string => all.map((one) => `${JSON.stringify(one)}\n`).join('');
    api.results.set(`${path}/log`, lines(records));
    api.results.set(`${path}/conversation`, lines(records.flatMap((record) => conversation.read(record as unknown as AuditRecord) ?? [])));
    for (const words of [
      ['logs', 'one'],
      ['logs', 'one', '-f'],
    ]) {
      const { out } = await fleet(api, words);
      expect(out).toMatch(/run 2 printed; 7 characters before it are left out; 9 bytes after it were not kept\n +\\u\{1b\}\[2Jline 0\n/);
      expect(out).toMatch(/line 38\n +line 39\n/);
      expect(out).toMatch(/child \+1\.250 sh -c 'echo.*rm x'\n +and 3 more commands of children\n/);
      expect(out).not.toContain('\u001b');
    }
  });
});
