import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinedAuthorities } from './authorities.ts';

describe('authorities of the administrator', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'authorities-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('are trusted beside the usual ones, from when they are put there until they are taken away', async () => {
    const file = join(folder, 'ca.crt');
    const authorities = joinedAuthorities(file, folder);
    expect(authorities()).toBeUndefined();
    for (const added of ['MINE', 'OTHER']) {
      await writeFile(file, `${added}\n`);
      const joined = authorities();
      expect(joined?.pem.endsWith(`\n${added}\n`)).toBe(true);
      expect(joined?.pem).toContain(rootCertificates[0]);
      expect(await readFile(joined?.file ?? '', 'utf8')).toBe(joined?.pem);
    }
    const before = authorities();
    expect(authorities()).toBe(before);
    await writeFile(file, '\n');
    expect(authorities()).toBeUndefined();
  });
});
