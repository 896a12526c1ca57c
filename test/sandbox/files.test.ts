import { beforeAll, describe, expect, test } from 'vitest';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { shell, useNamespace } from './harness.ts';

const bench = useNamespace('files');
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await bench.open();
});

describe('files through the keeper', () => {
  test('bytes, mode and new folders arrive as written', async () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, value) => value));
    const written = await sandbox.client.writeFile('/workspace/a/b/c.bin', bytes, '755');
    expect(written).toMatchObject({ bytes: 256, created: true });
    expect(await sandbox.client.readFile('/workspace/a/b/c.bin', 'Raw')).toEqual(bytes);
    const { stdout } = await shell(sandbox, 'stat -c %a /workspace/a/b/c.bin; sha256sum < /workspace/a/b/c.bin');
    expect(stdout).toBe(`755\n${written.sha256.replace('sha256:', '')}  -\n`);
  });

  test.each(['/etc/passwd', '/var/lib/agentfleet/events.log', '/workspace/../etc/passwd', '/proc/self/environ', '/workspacex/y'])(
    'a path outside the roots is refused: %s',
    async (path) => {
      await expect(sandbox.client.readFile(path)).rejects.toMatchObject({ status: 403, code: 'AF_PATH_OUTSIDE_ROOTS' });
      await expect(sandbox.client.writeFile(path, 'x')).rejects.toMatchObject({ status: 403, code: 'AF_PATH_OUTSIDE_ROOTS' });
    },
  );

  test('a symlink out of the root is refused, as a file and as a folder; one inside is followed', async () => {
    await shell(
      sandbox,
      'cd /workspace; ln -s /var/lib/agentfleet store; ln -s /etc/hostname host; mkdir -p in; echo y > in/f; ln -s in link',
    );
    await expect(sandbox.client.readFile('/workspace/store/events.log')).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    await expect(sandbox.client.writeFile('/workspace/store/x', 'x')).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    await expect(sandbox.client.readFile('/workspace/host')).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    expect((await sandbox.client.readFile('/workspace/link/f')).toString()).toBe('y\n');
  });

  test('a missing file, and one that is not regular, are distinguished', async () => {
    await shell(sandbox, 'mkdir -p /workspace/dir; mkfifo /workspace/pipe');
    await expect(sandbox.client.readFile('/workspace/pipe')).rejects.toMatchObject({ status: 409, code: 'AF_FILE_NOT_REGULAR' });
    await expect(sandbox.client.readFile('/workspace/dir')).rejects.toMatchObject({ status: 409, code: 'AF_FILE_NOT_REGULAR' });
    await expect(sandbox.client.readFile('/workspace/none')).rejects.toMatchObject({ status: 404, code: 'AF_FILE_NOT_FOUND' });
  });
});
