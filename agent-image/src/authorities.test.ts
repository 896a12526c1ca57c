import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinAuthorities } from './authorities.ts';

describe('authorities of the administrator', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'authorities-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('are trusted beside the usual ones', async () => {
    const file = join(folder, 'ca.crt');
    await writeFile(file, 'MINE\n');
    const joined = await joinAuthorities(file, folder);
    expect(joined?.pem.endsWith('\nMINE\n')).toBe(true);
    expect(joined?.pem).toContain(rootCertificates[0]);
    expect(await readFile(joined?.file ?? '', 'utf8')).toBe(joined?.pem);
  });

  it('may be absent', async () => {
    expect(await joinAuthorities(join(folder, 'none'), folder)).toBeUndefined();
    await writeFile(join(folder, 'empty'), '\n');
    expect(await joinAuthorities(join(folder, 'empty'), folder)).toBeUndefined();
  });
});
