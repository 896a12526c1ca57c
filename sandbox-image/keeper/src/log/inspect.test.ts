import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { nextRecord, recordLine } from './chain.ts';
import { EventLog } from './event-log.ts';
import { inspectLog, verifyLog } from './index.ts';

let dir: string;
let file: string;
/** Lines of a log of ten records, the last one is number ten. */
let good: readonly string[];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'log-'));
  file = join(dir, 'events.log');
  const { log } = await EventLog.open({ file, clock: systemClock, epoch: () => 7 });
  for (let n = 1; n < 10; n++) log.append('FileWritten', { n, text: 'ä\n' });
  await log.commit('ExecRequested', { n: 10 });
  await log.close();
  good = (await readFile(file, 'utf8')).split('\n').slice(0, -1);
});

afterEach(() => rm(dir, { recursive: true }));

const record = (n: number): AuditRecord => JSON.parse(good[n - 1] ?? '') as AuditRecord;
const line = (n: number): string => good[n - 1] ?? '';
const write = (all: readonly string[]): Promise<void> => writeFile(file, all.map((one) => `${one}\n`).join(''));
const altered = (n: number): string => line(n).replace(`"n":${n}`, `"n":${n + 100}`);

/** Rewrites the records from `n` on with other content and a valid chain: possible for an attacker who may write the whole file. */
function rewritten(n: number): string[] {
  let head = n === 1 ? { seq: 0, hash: '0'.repeat(64) } : record(n - 1);
  return good.slice(n - 1).map((_, index) => {
    const { at, type, epoch, body } = record(n + index);
    head = nextRecord(head, { at, type, epoch, body: { ...body, forged: true } });
    return recordLine(head as AuditRecord);
  });
}

test('a log as it was written has no faults, and its last record is the head', async () => {
  const read: number[] = [];
  const { hash } = record(10);
  const found = await inspectLog(file, { root: hash, onRecord: ({ seq }) => read.push(seq) });
  expect(found).toEqual({ ok: true, records: 10, head: { seq: 10, hash }, faults: [], faultCount: 0, clockSteps: [], behindRoot: 0 });
  expect(read).toHaveLength(10);
});

test.each<[string, () => readonly string[], readonly (readonly [line: number, seq: number, why: RegExp])[]]>([
  ['altered', () => good.with(2, altered(3)), [[3, 3, /hash does not fit/]]],
  [
    'two that are altered',
    () => good.with(2, altered(3)).with(3, altered(4)),
    [
      [3, 3, /hash/],
      [4, 4, /hash/],
    ],
  ],
  ['not a record', () => good.with(2, '{}'), [[3, 3, /not a record/]]],
  ['re-spelled', () => good.with(2, line(3).replace('{', '{ ')), [[3, 3, /canonical/]]],
  ['given a member that no hash covers', () => good.with(2, line(3).replace('{', '{"approvedBy":"ann",')), [[3, 3, /canonical/]]],
  ['dropped', () => good.toSpliced(2, 1), [[3, 4, /^record 3 is missing before it$/]]],
  ['dropped three', () => good.toSpliced(2, 3), [[3, 6, /^records 3 to 5 are missing before it$/]]],
  ['dropped the first', () => good.slice(1), [[1, 2, /^record 1 is missing/]]],
  [
    'swapped',
    () => good.with(2, line(4)).with(3, line(3)),
    [
      [3, 4, /record 3 is missing/],
      [4, 3, /behind record 4/],
    ],
  ],
  ['repeated', () => good.toSpliced(5, 0, line(2)), [[6, 2, /behind record 5/]]],
  ['replaced and hashed again', () => good.with(2, rewritten(3)[0] ?? ''), [[4, 4, /^it follows/]]],
])('reports once where a record was %s', async (_what, change, faults) => {
  await write(change());
  const found = await inspectLog(file, { root: record(10).hash });
  expect(found.ok).toBe(false);
  expect(found.faults).toEqual(faults.map(([line, seq, why]) => ({ line, seq, why: expect.stringMatching(why) as string })));
});

test('a missing tail, and a log written again, are found by a head only', async () => {
  const { hash } = record(10);
  for (const lines of [good.slice(0, 8), [...good.slice(0, 4), ...rewritten(5)], rewritten(1)]) {
    await write(lines);
    expect(await inspectLog(file)).toMatchObject({ ok: true, behindRoot: null });
    expect(await inspectLog(file, { root: hash })).toMatchObject({
      ok: false,
      faults: [{ why: expect.stringContaining('is no record of') as string }],
    });
  }
  await write(good);
  expect(await inspectLog(file, { root: record(7).hash })).toMatchObject({ ok: true, behindRoot: 3 });
});

test('a file that ends inside of a record, and one that is empty, are not whole', async () => {
  const all = await readFile(file);
  await writeFile(file, all.subarray(0, -1));
  expect(await inspectLog(file)).toMatchObject({
    ok: false,
    records: 9,
    faults: [{ line: 10, seq: 10, why: expect.stringContaining('ends early') as string }],
  });
  await writeFile(file, '');
  expect(await inspectLog(file)).toMatchObject({ ok: false, faults: [{ why: 'the log is empty' }] });
});

test('a clock that was set back is reported and is no fault', async () => {
  const times = ['2030-01-01T00:00:05.000Z', '2030-01-01T00:00:03.500Z', '2030-01-01T00:00:04.000Z'];
  let head = { seq: 0, hash: '0'.repeat(64) };
  await write(times.map((at) => recordLine((head = nextRecord(head, { at, type: 'Noted', epoch: 1, body: {} })))));
  expect(await inspectLog(file)).toMatchObject({
    ok: true,
    clockSteps: [{ line: 2, seq: 2, why: 'its time is 1.500 s before that of the record before it' }],
  });
});

/** Ways to tamper with a log, on lines; `at` and `by` choose where. */
const tampering = fc.oneof(
  fc.record({ how: fc.constant('alter' as const), at: fc.nat(), by: fc.integer({ min: 1, max: 255 }) }),
  fc.record({ how: fc.constantFrom('drop', 'move', 'repeat', 'insert', 'rewrite', 'cut', 'shorten'), at: fc.nat(), by: fc.nat() }),
);

function tamper(bytes: Buffer, { how, at, by }: { how: string; at: number; by: number }): Buffer {
  if (how === 'alter') return Buffer.from(bytes.with(at % bytes.length, (bytes[at % bytes.length] ?? 0) ^ by));
  if (how === 'cut') return bytes.subarray(0, at % bytes.length);
  const all = bytes.toString('utf8').split('\n').slice(0, -1);
  const from = at % all.length;
  const moved = all.toSpliced(from, 1);
  const change: Readonly<Record<string, () => readonly string[]>> = {
    drop: () => moved,
    move: () => moved.toSpliced((from + 1 + (by % (all.length - 1))) % all.length, 0, all[from] ?? ''),
    repeat: () => all.toSpliced(by % (all.length + 1), 0, all[from] ?? ''),
    insert: () => all.toSpliced(from, 0, rewritten(from + 1)[0] ?? ''),
    rewrite: () => [...all.slice(0, from), ...rewritten(from + 1)],
    shorten: () => all.slice(0, from),
  };
  const changed = change[how]?.() ?? [];
  return Buffer.from(changed.map((one) => `${one}\n`).join(''));
}

test('whatever was altered, dropped, moved, repeated, put in, rewritten or cut off is found with the head', async () => {
  const bytes = await readFile(file);
  const { hash } = record(10);
  await fc.assert(
    fc.asyncProperty(tampering, async (one) => {
      const bad = tamper(bytes, one);
      if (bad.equals(bytes)) return;
      await writeFile(file, bad);
      const found = await inspectLog(file, { root: hash });
      expect(await inspectLog(bad, { root: hash })).toEqual(found);
      expect(found.ok).toBe(false);
      expect(found.faults.length).toBeGreaterThan(0);
      // Without a head both readers agree: neither sees a missing tail or a chain made again.
      expect((await inspectLog(file)).ok).toBe((await verifyLog(file)).ok && bad.length > 0);
    }),
    { numRuns: 1000 },
  );
});
