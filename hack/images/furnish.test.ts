import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { furnishCertificates, furnishSymlinks, renderAccounts } from './furnish.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'furnish-'));
});
afterEach(() => rm(root, { recursive: true }));

test('the agent has its uid, its gid and its home', () => {
  const { passwd, group } = renderAccounts();
  expect(passwd).toContain('\nagent:x:10001:10001:agent:/home/agent:/bin/sh\n');
  expect(group).toContain('\nagent:x:10001:\n');
});

test('certificates are joined by name with one line end each', async () => {
  const folder = join(root, 'usr/share/ca-certificates/mozilla');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'b.crt'), 'B\n\n');
  await writeFile(join(folder, 'a.crt'), 'A');
  await writeFile(join(folder, 'readme'), 'no certificate');
  await furnishCertificates(root);
  expect(await readFile(join(root, 'etc/ssl/certs/ca-certificates.crt'), 'utf8')).toBe('A\nB\n');
});

test('no certificates at all is an error, not an empty file', async () => {
  await mkdir(join(root, 'usr/share/ca-certificates/mozilla'), { recursive: true });
  await expect(furnishCertificates(root)).rejects.toThrow(/no certificate/);
});

test('made folders do not depend on the umask', async () => {
  const before = process.umask(0o077);
  try {
    await furnishSymlinks(root, { 'usr/lib/ssl/cert.pem': '/x' });
  } finally {
    process.umask(before);
  }
  for (const folder of ['usr', 'usr/lib', 'usr/lib/ssl']) expect((await stat(join(root, folder))).mode & 0o777).toBe(0o755);
});
