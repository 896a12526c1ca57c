import { beforeAll, describe, expect, inject, test } from 'vitest';
import { newExecId, type ExecResult } from '@agentfleet/keeper/client';
import { up, type Cluster } from '../../hack/cluster/index.ts';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { shell, useNamespace } from './harness.ts';
import { importImage, muslFiles, tryer } from './userImages/image.ts';

const bench = useNamespace('images');
let cluster: Cluster;
beforeAll(async () => {
  cluster = await up({ tier: 'node' });
});

function exec(sandbox: Sandbox, ...argv: string[]): Promise<ExecResult> {
  return sandbox.client.run({ execId: newExecId(), tool: 'ExecCode', argv });
}

describe('an image of one static program, with its own user, entry point, volume and folder', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    const config = {
      User: '4242:4242',
      Entrypoint: ['/bin/tryer', 'stay'],
      Volumes: { '/data': {} },
      WorkingDir: '/srv/app',
      Env: ['HOME=/root', 'SECRET_OF_THE_IMAGE=1'],
    };
    const files = [{ name: 'bin/tryer', content: await tryer(), mode: 0o755 }];
    sandbox = await bench.open({ toolsImage: await importImage(cluster, 'static', files, config) });
  });

  test('runs its programs as our user, in the workspace, under the same isolation', async () => {
    expect((await sandbox.client.info()).isolation?.level).toBe('Landlock');
    expect((await exec(sandbox, '/bin/tryer', 'who')).stdout).toBe('10001 /home/agent /workspace\n');
  });

  test('a shell that is not there is refused in clear words', async () => {
    const { end } = await shell(sandbox, 'echo hello');
    expect(end).toMatchObject({ exitCode: 127 });
    expect(end.error?.message).toMatch(/\/bin\/sh.*does not exist/);
  });

  test('writes land in the roots or in scratch folders that are named; all others are refused', async () => {
    const before = await sandbox.client.takeSnapshot();
    const places = ['/workspace', '/home/agent', '/tmp', '/dev/shm', '/data', '/', '/bin', '/srv/app', '/etc', '/proc'];
    const { stdout } = await exec(sandbox, '/bin/tryer', 'write', ...places);
    const said = new Map(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split(' ') as [string, string]),
    );
    const word = (place: string): string => said.get(place) ?? 'nothing';
    expect(places.slice(0, 4).map(word)).toEqual(['ok', 'ok', 'ok', 'ok']);
    const refused = places.slice(4).map(word);
    expect(refused.filter((why) => !['EACCES', 'EROFS', 'ENOENT'].includes(why))).toEqual([]);
    expect(word('/data')).toBe('EACCES'); // a writable mount, which Landlock closes
    const after = await sandbox.client.takeSnapshot();
    const { entries } = await sandbox.client.diff(before.id, after.id);
    expect(entries.map(({ path }) => path).sort()).toEqual(['home/tried', 'workspace/tried']);
    expect((await sandbox.client.restore(before.id)).verified).toBe(true);
    expect((await sandbox.client.diff(before.id)).entries).toEqual([]);
  });
});

test('an image with a volume inside the workspace runs no command, and reports what to change', async () => {
  const files = [{ name: 'bin/tryer', content: await tryer(), mode: 0o755 }];
  const image = await importImage(cluster, 'nested', files, { Volumes: { '/workspace/cache': {} } });
  const sandbox = await bench.open({ toolsImage: image });
  const { end } = await exec(sandbox, '/bin/tryer', 'who');
  expect(end.exitCode).toBe(126);
  expect(end.error?.message).toMatch(/\/workspace\/cache is mounted inside of \/workspace.*take the VOLUME out/);
  await sandbox.close();
});

test('an image with musl runs programs linked against it, and a shell', async () => {
  const sandbox = await bench.open({ toolsImage: await importImage(cluster, 'musl', await muslFiles(), { User: 'nobody-known' }) });
  expect((await exec(sandbox, '/usr/bin/hello', 'musl')).stdout).toBe('hello musl of /home/agent in /workspace\n');
  expect((await shell(sandbox, 'hello you > said; cat said; ls /workspace')).stdout).toBe('hello you of /home/agent in /workspace\nsaid\n');
  await sandbox.close();
});

test.each([undefined, false])(
  'the runner may come in a volume of its image (hostUsers %s), and is out of reach there, too',
  async (hostUsers) => {
    const { images } = inject('environment');
    const users = hostUsers === undefined ? {} : { hostUsers };
    const sandbox = await bench.open({ toolsImage: images['tools-busybox'] ?? '', runnerVolume: true, ...users });
    expect((await sandbox.client.info()).isolation?.level).toBe(hostUsers === false ? 'UserNamespace' : 'Landlock');
    const { stdout } = await shell(sandbox, 'echo here; cat /.agentfleet/bin/runner /.agentfleet/bin/keeper.js 2>&1 | head -c 200');
    expect(stdout).toMatch(/^here\n(?:cat: can't open '\/\.agentfleet\/bin\/(?:runner|keeper\.js)': Permission denied\n){2}$/);
    await sandbox.close();
  },
);

test('an image with glibc and no shell runs programs linked against it', async () => {
  const sandbox = await bench.open({ toolsImage: inject('environment').images['sandbox'] ?? '' });
  const program = 'require("node:fs").writeFileSync("made", "x"); console.log(process.report.getReport().header.glibcVersionRuntime)';
  const { stdout, end } = await exec(sandbox, '/usr/local/bin/node', '-e', program);
  expect([end.exitCode, end.error]).toEqual([0, undefined]);
  expect(stdout).toMatch(/^2\.\d+\n$/);
  expect((await sandbox.client.readFile('/workspace/made')).toString()).toBe('x');
  expect((await shell(sandbox, 'true')).end.exitCode).toBe(127);
  await sandbox.close();
});
