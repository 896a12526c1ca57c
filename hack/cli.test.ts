import { once } from 'node:events';
import { mkdtemp, rm, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packCli, writePackages } from './cli.ts';

describe('the package for npm', () => {
  let folder = '';
  const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: '/nowhere' };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fleet-package-'));
    await packCli(folder);
  }, 120_000);
  afterAll(() => rm(folder, { recursive: true }));

  test('is an archive of a release, under its version, with the client beside it', async () => {
    const names = await writePackages(folder, '1.2.3-rc.1');
    expect(names).toEqual(['kubectl-fleet-1.2.3-rc.1.tgz', 'agentfleet-client-1.2.3-rc.1.tgz']);
    const listed = async (name: string): Promise<string> => (await execa('tar', ['-tzf', join(folder, name)])).stdout;
    expect((await listed('kubectl-fleet-1.2.3-rc.1.tgz')).split('\n')).toEqual(
      expect.arrayContaining(['package/fleet.cjs', 'package/dashboard/index.html', 'package/LICENSE']),
    );
    expect((await listed('agentfleet-client-1.2.3-rc.1.tgz')).split('\n')).toEqual(
      expect.arrayContaining(['package/index.mjs', 'package/index.d.ts']),
    );
  }, 120_000);

  test('is one program, by both names, which needs nothing beside it', async () => {
    const { bin } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { readonly bin: Record<string, string> };
    expect(Object.keys(bin)).toEqual(['fleet', 'kubectl-fleet']);
    for (const [name, file] of Object.entries(bin)) {
      await symlink(join(folder, file), join(folder, name));
      const { stdout } = await execa(join(folder, name), ['--version'], { env, extendEnv: false, cwd: '/' });
      expect(stdout).toBe('0.1.0');
    }
  });

  test.each([
    ['no kubeconfig', ['tasks'], 'fleet: there is no kubeconfig; give one by --kubeconfig or KUBECONFIG, or put it at ~/.kube/config'],
    ['packs', ['eval', 'report', '/nowhere'], 'fleet: '],
  ])('says what is wrong in one line: %s', async (_, args, text) => {
    const { exitCode, stdout, stderr } = await execa(process.execPath, [join(folder, 'fleet.cjs'), ...args], {
      env,
      extendEnv: false,
      reject: false,
    });
    expect([exitCode, stdout, stderr.split('\n').length]).toEqual([1, '', 1]);
    expect(stderr).toContain(text);
  });

  test.each([['--version'], ['get', '--help'], ['completion', 'bash']])(
    'loads no network for %s, so that it starts at once',
    async (...args) => {
      const listing = `process.on('exit', () => console.error(process.moduleLoadList.filter((name) => /undici|_http_client|tls_wrap/.test(name)).join()));`;
      await writeFile(join(folder, 'listing.cjs'), listing);
      const run = (words: readonly string[]) =>
        execa(process.execPath, ['--require', join(folder, 'listing.cjs'), join(folder, 'fleet.cjs'), ...words], {
          env,
          extendEnv: false,
          reject: false,
        });
      expect(await run(args)).toMatchObject({ exitCode: 0, stderr: '' });
      expect((await run(['tasks', '--kubeconfig', '/nowhere'])).stderr).toContain('_http_client');
    },
  );

  test('serves the dashboard with the page beside it', async () => {
    const kubeconfig = join(folder, 'kubeconfig');
    const cluster = { server: 'http://127.0.0.1:1' };
    const contexts = [{ name: 'a', context: { cluster: 'a', user: 'a' } }];
    const config = { clusters: [{ name: 'a', cluster }], users: [{ name: 'a', user: { token: 'x' } }], contexts, 'current-context': 'a' };
    await writeFile(kubeconfig, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...config }));
    const command = [join(folder, 'fleet.cjs'), 'dashboard', '--port', '0'];
    const serving = execa(process.execPath, command, { env: { ...env, KUBECONFIG: kubeconfig }, extendEnv: false, reject: false });
    const [line] = (await once(serving.stdout, 'data')) as [Buffer];
    const { origin } = new URL(line.toString());
    const page = await (await fetch(`${origin}/tasks/a/b`)).text();
    const script = /src="(?<path>\/assets\/[^"]+)"/.exec(page)?.groups?.['path'] ?? '';
    expect((await fetch(origin + script)).status).toBe(200);
    expect((await fetch(`${origin}/api/session`)).status).toBe(401);
    serving.kill('SIGTERM');
    await serving;
  });
});
