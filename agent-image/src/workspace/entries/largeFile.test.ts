import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sendEntries, type Entry } from './entry.ts';

/** As Git's pack of a project has it: one file in many parts, to a reader that is slower. */
test('a large file is sent without a listener left for each of its parts', async () => {
  const parts = 40;
  const part = Buffer.alloc(256 * 1024);
  const file: Entry = {
    path: 'pack',
    kind: 'File',
    mode: 0o444,
    size: parts * part.length,
    content: () => Array.from({ length: parts }, () => part),
  };
  const warned = once(process, 'warning').then(([warning]) => (warning as Error).name);
  const keeper = {
    writeTree: async (_: string, tar: AsyncIterable<Uint8Array>) => {
      for await (const _chunk of tar) await wait(1);
      return { files: 1, folders: 0, links: 0, bytes: file.size };
    },
  };
  const options = { limitBytes: file.size, mtime: new Date(0), signal: new AbortController().signal };
  expect(await sendEntries(keeper as never, '/workspace', [file], options)).toEqual({ files: 1, bytes: file.size });
  expect(await Promise.race([warned, wait(50, 'none')])).toBe('none');
});
