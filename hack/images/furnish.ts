// hack, images: accounts, certificates and links of a root file system. Of other folders imports hack/cache, hack/cluster/build.
import { chmod, chown, mkdir, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { agentUser } from './recipes.ts';
import { run } from './run.ts';

/** Returns `/etc/passwd` and `/etc/group` of all images: root, nobody and the agent. */
export function renderAccounts(user: typeof agentUser = agentUser): { readonly passwd: string; readonly group: string } {
  const { name, uid, gid, home } = user;
  return {
    passwd: `root:x:0:0:root:/root:/sbin/nologin\n${name}:x:${uid}:${gid}:${name}:${home}:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin\n`,
    group: `root:x:0:\n${name}:x:${gid}:\nnogroup:x:65534:\n`,
  };
}

async function writeFixed(root: string, path: string, content: string): Promise<void> {
  await makeFolder(root, dirname(path), 0o755);
  await writeFile(join(root, path), content);
  await chmod(join(root, path), 0o644);
}

/** Makes a folder and its parents; modes are set by `chmod`, so the caller's umask does not count. */
async function makeFolder(root: string, path: string, mode: number): Promise<void> {
  const made = await mkdir(join(root, path), { recursive: true });
  if (made !== undefined) {
    for (let folder = path; join(root, folder).startsWith(made); folder = dirname(folder)) await chmod(join(root, folder), 0o755);
  }
  if (mode !== 0o755) await chmod(join(root, path), mode);
}

/** Writes accounts, name lookup, home, `/tmp`: files that a program without a shell expects. */
export async function furnishAccounts(root: string): Promise<void> {
  const accounts = renderAccounts();
  await writeFixed(root, 'etc/passwd', accounts.passwd);
  await writeFixed(root, 'etc/group', accounts.group);
  await writeFixed(root, 'etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n');
  await makeFolder(root, 'tmp', 0o1777);
  await makeFolder(root, 'var/tmp', 0o1777);
  await makeFolder(root, 'root', 0o700);
  const home = agentUser.home.slice(1);
  await makeFolder(root, home, 0o755);
  await chown(join(root, home), agentUser.uid, agentUser.gid);
  for (const folder of ['dev', 'proc', 'run', 'sys']) await makeFolder(root, folder, 0o755);
}

/** Writes one file with all certificates, like `update-ca-certificates`; single ones are removed. */
export async function furnishCertificates(root: string): Promise<void> {
  const folder = join(root, 'usr/share/ca-certificates/mozilla');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.crt')).sort();
  const certificates: string[] = [];
  for (const name of names) certificates.push(`${(await readFile(join(folder, name), 'utf8')).trim()}\n`);
  if (certificates.length === 0) throw new Error('ca-certificates has no certificate: its layout changed, see furnish.ts');
  await writeFixed(root, 'etc/ssl/certs/ca-certificates.crt', certificates.join(''));
  await rm(join(root, 'usr/share/ca-certificates'), { recursive: true });
}

/** Writes the recipe's own files. */
export async function furnishFiles(root: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) await writeFixed(root, path, content);
}

/** Makes the recipe's symbolic links; each replaces nothing. */
export async function furnishSymlinks(root: string, links: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, target] of Object.entries(links)) {
    await makeFolder(root, dirname(path), 0o755);
    await symlink(target, join(root, path));
  }
}

/** Moves busybox to `/bin/busybox` with one link per applet. Applets are asked of the program itself. */
export async function furnishBusybox(root: string): Promise<void> {
  const applets = (await run(join(root, 'usr/bin/busybox'), ['--list'])).split('\n').filter((name) => name !== '' && name !== 'busybox');
  await makeFolder(root, 'bin', 0o755);
  await run('mv', [join(root, 'usr/bin/busybox'), join(root, 'bin/busybox')]);
  await run('rm', ['-r', join(root, 'usr')]);
  for (const applet of applets.sort()) await symlink('busybox', join(root, 'bin', applet));
}

/**
 * Compiles the Python library in place. Unchecked hashes, because the root is read-only: no
 * start has to look at a source's time. A fixed hash seed keeps the order of sets in the output.
 */
export async function compilePython(root: string, signal?: AbortSignal): Promise<void> {
  const folders = (await readdir(join(root, 'usr/lib'))).filter((name) => name.startsWith('python3')).map((name) => `/usr/lib/${name}`);
  const args = ['-m', 'compileall', '-q', '-j', '1', '--invalidation-mode', 'unchecked-hash', ...folders.sort()];
  const env = { PYTHONHASHSEED: '0', PYTHONDONTWRITEBYTECODE: '' };
  await run('chroot', [root, '/usr/bin/python3', ...args], { env, signal });
}
