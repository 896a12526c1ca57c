import { appendFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { interruptedEnd, JournalArchive, lastEvent } from './archive.ts';
import { systemClock } from '../base/clock.ts';
import { follow, Journal } from './journal.ts';

const mebibyte = 1024 * 1024;

it('counts the output that it has no room for', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'journal-'));
  const header = { type: 'request', execId: 'x', requestDigest: '', epoch: 1, at: '' } as const;
  const journal = await Journal.create(join(dir, 'x.ndjson'), header, { onFault: () => undefined });
  for (let n = 0; n < 66; n++) await journal.append({ type: 'out', stream: 'stdout', text: 'x'.repeat(mebibyte) });
  await journal.append({ type: 'out', stream: 'stderr', b64: Buffer.alloc(100).toString('base64') });
  const { bytes } = await journal.finish(interruptedEnd('ToolsLost'), () => Promise.resolve());
  const kept = Math.floor(bytes / mebibyte);
  expect(kept).toBeGreaterThan(60);
  expect(journal.lostBytes).toEqual({ stdout: (66 - kept) * mebibyte, stderr: 100 });
  await rm(dir, { recursive: true });
});

it('has an end that is found and survives a cut, however long it is', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'journal-'));
  const archive = await JournalArchive.open(dir);
  const header = { type: 'request', execId: 'X', requestDigest: '', epoch: 1, at: '' } as const;
  const journal = await archive.create(header, { onFault: () => undefined });
  await journal.append({ type: 'out', stream: 'stdout', text: 'x'.repeat(mebibyte) });
  const commands = Array.from({ length: 200 }, (_, pid) => ({ pid, parent: 1, atMs: 0, argv: ['x'.repeat(1000)] }));
  const { bytes } = await journal.finish({ ...interruptedEnd('ToolsLost'), commands }, () => Promise.resolve());
  const found = async () => lastEvent(archive.path('X'));
  expect(await found()).toMatchObject({ seq: 2, commands });
  archive.finished('X', bytes);
  const cut = await archive.cutOldest();
  expect(await found()).toMatchObject({ cut: true, commands });
  expect(cut).toEqual({ execId: 'X', freedBytes: bytes - (await stat(archive.path('X'))).size });
  await appendFile(archive.path('X'), '{"type":"en');
  expect(await found()).toBeNull();
  await rm(dir, { recursive: true });
});

it.each([
  ['a running command, which ends', false],
  ['a finished command', true],
])('gives its end to a follower in the middle of %s, although its events are removed before it is opened', async (_what, isFinished) => {
  const dir = await mkdtemp(join(tmpdir(), 'journal-'));
  const archive = await JournalArchive.open(dir);
  const execId = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
  const journal = await archive.create({ type: 'request', execId, requestDigest: '', epoch: 1, at: '' }, { onFault: () => undefined });
  for (let n = 0; n < 50; n++) await journal.append({ type: 'out', stream: 'stdout', text: 'x'.repeat(1000) });
  const { bytes } = await journal.finish(interruptedEnd('ToolsLost'), () => Promise.resolve());
  const source = isFinished ? (await archive.find(execId))?.source : journal;
  archive.finished(execId, bytes);
  expect((await archive.cutOldest())?.freedBytes).toBeGreaterThan(0);
  const lines: Buffer[] = [];
  for await (const part of follow(source ?? journal, { from: 40, clock: systemClock, signal: new AbortController().signal }))
    lines.push(part);
  expect(JSON.parse(Buffer.concat(lines).toString() || 'null')).toMatchObject({ type: 'end', cut: true });
  await rm(dir, { recursive: true });
});
