import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventLog } from '@agentfleet/keeper/log';
import { systemClock } from '@agentfleet/kube';
import type { AuditRecord, AuditType } from '@agentfleet/protocol/keeper';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiServer } from './testing/apiServer.ts';
import { fleet } from './testing/fleet.ts';

const candidate = `sha256:${'c'.repeat(64)}`;
const tree = `sha256:${'7'.repeat(64)}`;
const signals = {
  risk: 0.25,
  energy: -1.5,
  pSuccess: 0.8,
  margin: null,
  entropyNats: 5.1,
  k: 4,
  deliberate: true,
  degraded: ['no priors'],
};

/** What a keeper and a worker write about a short task. */
const timeline: readonly (readonly [AuditType, Record<string, unknown>])[] = [
  ['KeeperStarted', { version: '1.2', tornBytes: 7 }],
  ['ToolsConnected', { version: '1.2', isolation: { level: 'Landlock' } }],
  ['NetworkProbed', { state: 'Open', targets: [{ name: 'apiserver', address: '10.0.0.1:443', reachable: true }] }],
  ['EpochRaised', { from: 0, to: 1 }],
  ['SnapshotTaken', { id: 's0001', label: 'initial', files: 3, bytes: 42, manifestDigest: tree }],
  ['ExecRequested', { execId: 'a', tool: 'Shell', command: 'make\n\u001b[2K# gone', cwd: '/workspace', network: 'Loopback' }],
  ['FileWritten', { path: '/workspace/x', bytes: 3, created: true }],
  ['ExecEnded', { execId: 'a', exitCode: 2, durationMs: 1250, killed: null, timedOut: false, oom: false, signal: null }],
  ['Noted', { kind: 'Baseline', data: { attempt: 1, checks: [{ check: 'unit', expect: 'Auto', failing: ['t.one'], flaky: [] }] } }],
  [
    'Noted',
    {
      kind: 'Tried',
      data: {
        attempt: 1,
        step: 3,
        id: candidate,
        operator: 'off-by-one',
        location: 'a.py:7',
        decision: 'Allow',
        result: 'Better',
        why: 'one test more',
        signals,
        facts: { expert: 'gen', tool: 'Editor', testsFailing: 1, testsFixed: 1, testsTotal: 8 },
      },
    },
  ],
  [
    'Noted',
    {
      kind: 'Accepted',
      data: { attempt: 1, candidate, edits: [{ path: 'a.py' }], acts: [{ command: 'npm test' }], snapshot: 's0002', passing: ['t.one'] },
    },
  ],
  [
    'Noted',
    { kind: 'Rejected', data: { attempt: 1, action: tree, decision: 'Rejected', summary: 'git push', why: 'not on Friday', at: 'now' } },
  ],
  [
    'Noted',
    { kind: 'Egress', data: { attempt: 1, mode: 'Allowed', requests: [{ host: 'h.test', port: 443, decision: 'Denied', requests: 2 }] } },
  ],
  ['SnapshotRestored', { id: 's0001', phase: 'Intent' }],
  ['SnapshotRestored', { id: 's0001', phase: 'Done', verified: true, created: 1, modified: 2, deleted: 3, manifestDigest: tree }],
  ['SnapshotRestored', { id: 's0002', phase: 'Intent' }],
  ['ExecRequested', { execId: 'b', tool: 'ExecCode', argv: ['sh', '-c', 'sleep 9'], cwd: '/workspace', network: 'None' }],
  ['Noted', { kind: 'Strange', data: { n: 1 } }],
  ['Noted', { kind: 'Outcome', data: { attempt: 1, result: 'Failed', reason: 'NoMore', class: 'CheckFailed' } }],
];

let folder: string;
let file: string;
let lines: readonly string[];
const record = (n: number): AuditRecord => JSON.parse(lines[n - 1] ?? '') as AuditRecord;
const write = (all: readonly string[]): Promise<void> => writeFile(file, all.map((line) => `${line}\n`).join(''));
const nowhere = { env: { KUBECONFIG: '/nowhere' } };
const clock = { now: () => Date.UTC(2030, 0, 1), monotonic: () => 0, sleep: () => Promise.resolve(), after: () => () => undefined };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fleet-audit-'));
  file = join(folder, 'trace.ndjson');
  const { log } = await EventLog.open({ file, clock, epoch: () => 1 });
  for (const [type, body] of timeline) log.append(type, body);
  await log.close();
  lines = (await readFile(file, 'utf8')).split('\n').slice(0, -1);
});
afterEach(() => rm(folder, { recursive: true }));

/** A task whose log is `content`. */
function addTask(api: ApiServer, content: Buffer, uri = 's3://agents/p/trace.ndjson', auditRoot = record(timeline.length).hash): void {
  const sha256 = createHash('sha256').update(content).digest('hex');
  api.addTask('one', {
    status: { phase: 'Failed', run: { auditRoot, artifacts: [{ name: 'trace.ndjson', uri, sha256, bytes: content.length }] } },
  });
}

describe('fleet audit verify', () => {
  test('asks no cluster about a file, and reports what a head would show', async () => {
    await using api = await ApiServer.start();
    const { code, out, err } = await fleet(api, ['audit', 'verify', file], nowhere);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(`${timeline.length} records`);
    expect(out).toContain('whether its end is missing');
    const held = await fleet(api, ['audit', 'verify', file, '--root', record(timeline.length).hash], nowhere);
    expect(held.out).toContain('the log holds: nothing was altered');
    await write(lines.slice(0, -2));
    expect((await fleet(api, ['audit', 'verify', file], nowhere)).code).toBe(0);
    const cut = await fleet(api, ['audit', 'verify', file, '--root', record(timeline.length).hash], nowhere);
    expect(cut).toMatchObject({ code: 1, out: expect.stringMatching(/FAULT: record 18 .*its end is missing/) as string });
    expect((await fleet(api, ['audit', 'verify', join(folder, 'none.ndjson')], nowhere)).err).toContain('there is no file');
    expect((await fleet(api, ['audit', 'verify', file, '--root', 'abc'], nowhere)).err).toContain('64 hexadecimal digits');
    expect(api.seen).toEqual([]);
  });

  test('names record, line and what is wrong', async () => {
    await using api = await ApiServer.start();
    await write(lines.with(4, (lines[4] ?? '').replace('"files":3', '"files":4')).toSpliced(9, 1));
    const { code, out, err } = await fleet(api, ['audit', 'verify', file], nowhere);
    expect(code).toBe(1);
    expect(out).toContain('FAULT: record 5 (line 5): its hash does not fit its content');
    expect(out).toContain('FAULT: record 11 (line 10): record 10 is missing before it');
    expect(err).toContain('does not hold, 2 faults');
  });

  test('checks the log of a task against its status: head and hash of the file', async () => {
    await using api = await ApiServer.start();
    addTask(api, await readFile(file));
    const good = await fleet(api, ['audit', 'verify', 'one', '--file', file]);
    expect(good).toMatchObject({ code: 0, out: expect.stringContaining(`record ${timeline.length} of ${timeline.length}`) as string });
    expect((await fleet(api, ['logs', 'one', '--file', file])).out).toMatch(/candidate cccccccc of step 3: [^]*attempt 1: Failed, NoMore/);
    await write(lines.slice(0, -1));
    const { code, out } = await fleet(api, ['audit', 'verify', 'one', '--file', file]);
    expect(code).toBe(1);
    expect(out).toContain('FAULT: it is not the artifact of the task');
    expect(out).toContain('its end is missing');
    addTask(api, await readFile(file), undefined, record(10).hash);
    expect((await fleet(api, ['audit', 'verify', 'one', '--file', file])).out).toContain('vouches for the 8 behind it');
    expect((await fleet(api, ['audit', 'verify', 'one', '--file', file, '--root', 'a'.repeat(64)])).err).toContain('leave --root out');
  });

  test('reports where the log of a task lies, and fetches it from a store that is named', async () => {
    await using api = await ApiServer.start();
    const content = await readFile(file);
    const paths: string[] = [];
    const store = createServer((request, response) => {
      paths.push(`${request.url ?? ''} ${request.headers.authorization?.split(' ')[0] ?? 'unsigned'}`);
      if (request.url === '/agents/p/trace.ndjson') response.writeHead(200).end(content);
      else response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>');
    });
    await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(store.address() as AddressInfo).port}`;
    await writeFile(join(folder, 'credential'), 'id:key');
    addTask(api, content);
    expect((await fleet(api, ['audit', 'verify', 'one'])).err).toContain(
      'trace.ndjson lies at s3://agents/p/trace.ndjson; the cluster does not serve',
    );
    const signed = ['--endpoint', endpoint, '--credential-file', join(folder, 'credential')];
    expect(await fleet(api, ['audit', 'verify', 'one', ...signed], { clock: systemClock })).toMatchObject({ code: 0, err: '' });
    expect(await fleet(api, ['audit', 'show', 'one', '--endpoint', endpoint], { clock: systemClock })).toMatchObject({ code: 0, err: '' });
    expect(paths).toEqual(['/agents/p/trace.ndjson AWS4-HMAC-SHA256', '/agents/p/trace.ndjson unsigned']);
    addTask(api, content, 's3://agents/p/other');
    expect((await fleet(api, ['audit', 'verify', 'one', '--endpoint', endpoint], { clock: systemClock })).err).toContain(
      'fetch s3://agents/p/other',
    );
    addTask(api, content, 'pvc://claim/p/trace.ndjson');
    expect((await fleet(api, ['audit', 'verify', 'one'])).err).toMatch(
      /lies at pvc:\/\/claim\/p\/trace.ndjson; .*from a worker, which mounts the claim.*\nkubectl --namespace team exec .*artifacts\/p\/trace.ndjson'\).*> trace.ndjson/,
    );
    store.close();
    store.closeAllConnections();
  });

  test('finds whatever one byte or one line was done to the log of a task', async () => {
    await using api = await ApiServer.start();
    const good = await readFile(file);
    addTask(api, good);
    const changes = fc.oneof(
      fc
        .tuple(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }))
        .map(([at, by]) => Buffer.from(good.with(at, (good[at] ?? 0) ^ by))),
      fc.nat(good.length - 1).map((end) => good.subarray(0, end)),
      fc.tuple(fc.nat(lines.length - 1), fc.nat(lines.length - 1), fc.boolean()).map(([from, to, keep]) => {
        const rest = keep ? lines : lines.toSpliced(from, 1);
        const all = from === to && !keep ? rest : rest.toSpliced(to, 0, lines[from] ?? '');
        return Buffer.from(all.map((line) => `${line}\n`).join(''));
      }),
    );
    await fc.assert(
      fc.asyncProperty(changes, async (bad) => {
        if (bad.equals(good)) return;
        await writeFile(file, bad);
        // By the head alone: the hash of the artifact would show it anyway.
        const root = record(timeline.length).hash;
        const { code, out } = await fleet(api, ['audit', 'verify', file, '--root', root], nowhere);
        expect([code, /FAULT: record \d+ \(line \d+\): \S/.test(out)]).toEqual([1, true]);
      }),
      { numRuns: 300 },
    );
  });
});

test('finds a log that was written anew with hashes that fit, whatever it changes, by its head', async () => {
  await using api = await ApiServer.start();
  const root = record(timeline.length).hash;
  const [last] = timeline.slice(-1);
  if (last === undefined) throw new Error('the story is empty');
  for (const [at, [type, body]] of timeline.entries()) {
    const swapped = timeline.with(at, timeline[at + 1] ?? last).with(Math.min(at + 1, timeline.length - 1), [type, body]);
    const forged = [
      timeline.with(at, [type, { ...body, forged: true }]),
      timeline.toSpliced(at, 1),
      timeline.toSpliced(at, 0, last),
      swapped,
    ];
    // The last one has nothing to be swapped with; a copy of it behind itself leaves the head where it was.
    for (const [kind, all] of forged.entries()) {
      if (at === timeline.length - 1 && kind >= 2) continue;
      await rm(file);
      const { log } = await EventLog.open({ file, clock, epoch: () => 1 });
      for (const [of, what] of all) log.append(of, what);
      await log.close();
      const { code, out } = await fleet(api, ['audit', 'verify', file, '--root', root], nowhere);
      expect([at, kind, code, /FAULT: /.test(out)]).toEqual([at, kind, 1, true]);
    }
  }
});

describe('fleet audit show', () => {
  test('prints the story in words, safe for a terminal', async () => {
    await using api = await ApiServer.start();
    const { code, out, err } = await fleet(api, ['audit', 'show', file], nowhere);
    expect([code, err]).toEqual([0, '']);
    for (const words of [
      'Keeper    started, version 1.2, cut 7 torn bytes of its log',
      'probe: Open, reached apiserver 10.0.0.1:443',
      `s0001 "initial": 3 files, 42 bytes, tree ${'7'.repeat(12)}`,
      'Shell in /workspace, network Loopback: exit 2 in 1.250 s',
      String.raw`\u{1b}[2K# gone`,
      'made /workspace/x, 3 bytes',
      'check unit (Auto): 1 failing: t.one',
      'Candidate cccccccc of step 3: off-by-one at a.py:7 by gen: Allow, Better',
      'why: one test more',
      'Editor: 1 of 8 tests fail, 1 fixed',
      'p 0.8, risk 0.25, energy -1.5, entropy 5.1, k 4, deliberate, degraded: no priors',
      'Step      done with candidate cccccccc: 1 edit, 1 command, 1 test newly pass, snapshot s0002',
      'act: npm test',
      'Rejected: git push (nobody answered in time)',
      'reason: not on Friday',
      'Denied: h.test:443 2×',
      'of s0001: verified, 1 created, 2 modified, 3 deleted',
      'of s0002 began, no end of it in this log',
      "sh -c 'sleep 9'",
      'no end of it in this log',
      'Strange: n 1',
      'attempt 1: Failed, NoMore (CheckFailed)',
    ])
      expect(out).toContain(words);
    expect(out).not.toContain('\u001b');
  });

  test('as JSON it has the facts and what the check found', async () => {
    await using api = await ApiServer.start();
    await write(lines.with(6, (lines[6] ?? '').replace('"bytes":3', '"bytes":4')));
    const { code, out, err } = await fleet(api, ['audit', 'show', file, '--json'], nowhere);
    expect(code).toBe(0);
    expect(err).toContain('do not believe its story');
    const reported = JSON.parse(out) as {
      readonly check: unknown;
      readonly items: readonly { readonly seq: number; readonly kind: string }[];
    };
    expect(reported.check).toMatchObject({ ok: false, faultCount: 1, faults: [{ seq: 7 }] });
    expect(reported.items.find(({ seq }) => seq === 6)).toMatchObject({ kind: 'Command', facts: { tool: 'Shell', end: { exitCode: 2 } } });
    expect(reported.items.find(({ kind }) => kind === 'Candidate')).toMatchObject({ facts: { decision: 'Allow', signals: { k: 4 } } });
    // An altered record is no part of the story.
    expect(reported.items.some(({ seq }) => seq === 7)).toBe(false);
  });
});
