import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AttemptFailure } from '../../base/failure.ts';
import type { Dialer } from '../../egress/index.ts';
import { listening } from '../../egress/testing/sockets.ts';
import { importWorkspace } from '../import.ts';
import { importPlace, type ImportPlace } from '../testing/folderKeeper.ts';
import { dialerTo, startGitServer, type GitServer } from '../testing/gitServer.ts';
import { TestRepository } from '../testing/repository.ts';

let dir: string;
/** A server that the pool may list, and one that it never does, with an untrusted certificate. */
let server: GitServer;
let stranger: GitServer;
let place: ImportPlace;
const redirects: Record<string, string> = {};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'git-address-'));
  const repository = await TestRepository.create(join(dir, 'root', 'team', 'app'));
  await repository.write('README', 'hello\n');
  await repository.commit('one');
  await mkdir(join(dir, 'other'));
  server = await startGitServer(dir, join(dir, 'root'), ({ url = '' }, response) => {
    const location = redirects[url.split('/')[1] ?? ''];
    if (location === undefined) return false;
    response.writeHead(302, { location }).end();
    return true;
  });
  stranger = await startGitServer(join(dir, 'other'), join(dir, 'root'));
  place = await importPlace(dir, { authorities: server.authorities });
});

afterAll(async () => {
  await Promise.all([server.close(), stranger.close()]);
  await rm(dir, { recursive: true, force: true });
});

/** Class, reason and message of a failed import, without the task's own text. */
async function failureOf(url: string, dialer: Dialer): Promise<readonly string[]> {
  const error: unknown = await importWorkspace({ type: 'Git', git: { url, ref: 'main' } }, { ...place, dialer }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AttemptFailure)) throw new Error(`no AttemptFailure: ${String(error)}`);
  return [error.failureClass, error.reason, error.message.replace(url, '<url>').replace(/ \S+:\d+ /, ' <host> ')];
}

const portOf = ({ origin }: GitServer): string => new URL(origin).port;

/** Returns a port without a listener. */
async function freePort(): Promise<number> {
  const probe = createServer();
  const port = await listening(probe);
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

const refused = [
  'InvalidInput',
  'HostNotAllowed',
  '<url>: <host> may not be reached: it is unknown, or inside the cluster or a private network; correct it, or list it in spec.policy.allowedHosts of the pool',
];

test('a server that is neither listed nor public gets the same message, whatever is at its address', async () => {
  const urls = [
    `${server.origin}/team/app/.git`,
    `${server.origin}/team/nothing`,
    `${stranger.origin}/team/app/.git`,
    `https://127.0.0.1:${await freePort()}/a/b`,
    ...['localhost', '2130706433', '[::ffff:127.0.0.1]', '0.0.0.0'].map((host) => `https://${host}:${portOf(server)}/team/app/.git`),
    ...['10.96.0.1', '[::1]:6443', '[fd00::1]'].map((host) => `https://${host}/a/b`),
  ];
  const before = server.requests.length;
  for (const url of urls) expect(await failureOf(url, dialerTo()), url).toEqual(refused);
  expect([server.requests.length - before, stranger.requests.length]).toEqual([0, 0]);
});

test('a redirect of a server that is listed is judged like an address of the task', async () => {
  redirects['inside'] = `${stranger.origin}/team/app/.git/info/refs?service=git-upload-pack`;
  redirects['closed'] = `https://127.0.0.1:${await freePort()}/team/app/.git/info/refs?service=git-upload-pack`;
  for (const name of Object.keys(redirects)) {
    expect(await failureOf(`${server.origin}/${name}/app`, dialerTo(server.origin))).toEqual(refused);
  }
  expect(stranger.requests).toEqual([]);
});

test('for a listed server the true cause is reported, with the cure for an unknown signer', async () => {
  const [failureClass, reason, message] = await failureOf(`${stranger.origin}/team/app/.git`, dialerTo(stranger.origin));
  expect([failureClass, reason]).toEqual(['Infrastructure', 'TLSFailed']);
  expect(message).toContain("put the authority of the server into the ConfigMap agentfleet-ca of the pool's namespace");
});
