import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { interruptedEnd } from './archive.ts';
import { Journal } from './journal.ts';

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
