import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { nextRecord, recordLine } from './chain.ts';
import { EventLog } from './event-log.ts';
import { genesis, verifyLog } from './index.ts';

let dir: string;
let file: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'log-'));
  file = join(dir, 'events.log');
});

afterEach(() => rm(dir, { recursive: true, force: true }));

const open = async () => EventLog.open({ file, clock: systemClock, epoch: () => 7 });

async function filled(records: number): Promise<void> {
  const { log } = await open();
  for (let n = 1; n < records; n++) log.append('FileWritten', { n, text: 'ä "quoted"\n' });
  if (records > 0) await log.commit('ExecRequested', { n: records });
  await log.close();
}

const lines = async (): Promise<string[]> => (await readFile(file, 'utf8')).split('\n').slice(0, -1);
const write = (all: readonly string[]): Promise<void> => writeFile(file, all.map((line) => `${line}\n`).join(''));

describe('the event log', () => {
  it('is a whole chain from 64 zeros on, and continues after a restart', async () => {
    await filled(3);
    const { log, tornBytes } = await open();
    expect(tornBytes).toBe(0);
    log.append('KeeperStarted', {});
    await log.close();
    const records = (await lines()).map((line) => JSON.parse(line) as AuditRecord);
    expect(records.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect(records[0]).toMatchObject({ prev: genesis, epoch: 7, type: 'FileWritten' });
    expect(records[3]?.prev).toBe(records[2]?.hash);
    expect(await verifyLog(file)).toMatchObject({ ok: true, records: 4, root: records[3]?.hash, broken: null });
  });

  it('has an intent on disk when commit returns', async () => {
    const { log } = await open();
    const record = await log.commit('ExecRequested', { execId: 'x' });
    expect(await lines()).toEqual([recordLine(record)]);
    expect(log.head).toEqual({ seq: 1, hash: record.hash });
    await log.close();
  });

  it('keeps the order of a thousand concurrent records', async () => {
    const { log } = await open();
    const commits: Promise<AuditRecord>[] = [];
    for (let n = 0; n < 1000; n++) {
      if (n % 10 === 0) commits.push(log.commit('ExecRequested', { n }));
      else log.append('ExecEnded', { n });
    }
    await Promise.all(commits);
    expect(await log.verify()).toMatchObject({ ok: true, records: 1000 });
    const read: AuditRecord[] = [];
    for await (const line of log.read(901)) read.push(JSON.parse(line.toString('utf8')) as AuditRecord);
    expect(read.map(({ body }) => body['n'])).toEqual(Array.from({ length: 100 }, (_, n) => 900 + n));
    await log.close();
  });

  it('cuts a torn last line, reports its length, and continues', async () => {
    await filled(3);
    await appendFile(file, '{"at":"2026-');
    const { log, tornBytes } = await open();
    expect(tornBytes).toBe(12);
    expect(log.broken).toBeNull();
    await log.commit('KeeperStarted', { tornBytes });
    await log.close();
    expect(await verifyLog(file)).toMatchObject({ ok: true, records: 4 });
  });

  it('takes nothing more when its chain is broken', async () => {
    await filled(3);
    const all = await lines();
    await write(all.toSpliced(1, 1));
    const { log } = await open();
    expect(log.broken).toMatchObject({ seq: 2 });
    expect(() => log.assertWritable()).toThrow(/broken at record 2/);
    expect(() => log.commit('KeeperStarted', {})).toThrow(expect.objectContaining({ code: 'AF_LOG_BROKEN' }));
    log.append('KeeperStarted', {});
    await log.close();
    expect(await lines()).toHaveLength(2);
  });

  it('notices at the next audit when the file was changed under it', async () => {
    const { log } = await open();
    await log.commit('ExecRequested', { command: 'rm -rf x' });
    await write((await lines()).map((line) => line.replace('rm -rf', 'ls -la')));
    expect(await log.verify()).toMatchObject({ ok: false, broken: { seq: 1, why: 'its hash does not fit its content' } });
    expect(() => log.assertWritable()).toThrow(/broken/);
    await log.close();
  });
});

describe('verifyLog', () => {
  it.each<[string, (all: string[]) => string[], number, RegExp]>([
    ['altered', (all) => all.with(2, (all[2] ?? '').replace('"n":3', '"n":4')), 3, /hash/],
    ['dropped', (all) => all.toSpliced(2, 1), 3, /4.*3 must follow/],
    ['reordered', (all) => all.with(1, all[2] ?? '').with(2, all[1] ?? ''), 2, /3.*2 must follow/],
    ['inserted', (all) => all.toSpliced(2, 0, all[1] ?? ''), 3, /2.*3 must follow/],
    ['re-spelled', (all) => all.with(2, (all[2] ?? '').replace('{"at"', '{ "at"')), 3, /canonical/],
    ['not JSON', (all) => all.with(2, 'x'), 3, /not a record/],
    [
      're-hashed alone',
      (all) =>
        all.with(
          1,
          recordLine(
            nextRecord(
              { seq: 1, hash: (JSON.parse(all[0] ?? '') as AuditRecord).hash },
              { at: 'x', type: 'FileWritten', epoch: 7, body: {} },
            ),
          ),
        ),
      3,
      /follows/,
    ],
  ])('finds the first record that was %s', async (_what, change, seq, why) => {
    await filled(5);
    await write(change(await lines()));
    const report = await verifyLog(file);
    expect(report.ok).toBe(false);
    expect(report.broken?.seq).toBe(seq);
    expect(report.broken?.why).toMatch(why);
  });

  it('detects a missing tail by a head that was seen before', async () => {
    await filled(5);
    const all = await lines();
    const { seq, hash } = JSON.parse(all[4] ?? '') as AuditRecord;
    await write(all.slice(0, 3));
    expect(await verifyLog(file)).toMatchObject({ ok: true, records: 3 });
    expect(await verifyLog(file, { expect: { seq, hash } })).toMatchObject({
      ok: false,
      broken: { seq: 4, why: '2 records are missing at the end' },
    });
    await rm(file);
    expect(await verifyLog(file, { expect: { seq, hash } })).toMatchObject({ ok: false });
  });

  it('finds any single changed byte', async () => {
    await filled(4);
    const good = await readFile(file);
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }), async (at, by) => {
        const bad = Buffer.from(good);
        bad[at] = (bad[at] ?? 0) ^ by;
        await writeFile(file, bad);
        expect((await verifyLog(file)).ok).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it('finds broken bytes that read like the replacement character of before', async () => {
    const { log } = await open();
    await log.commit('FileWritten', { path: '\ufffd' });
    await log.close();
    const good = await readFile(file);
    const at = good.indexOf(Buffer.from('\ufffd'));
    await writeFile(file, good.with(at, 0xf0));
    expect((await readFile(file)).toString('utf8')).toBe(good.toString('utf8'));
    expect((await verifyLog(file)).ok).toBe(false);
  });

  it('calls an empty or missing log whole', async () => {
    expect(await verifyLog(file)).toMatchObject({ ok: true, records: 0, root: genesis });
  });
});
