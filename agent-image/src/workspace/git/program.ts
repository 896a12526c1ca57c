import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { deadline } from '@agentfleet/kube';
import { AttemptFailure } from '../../base/failure.ts';
import { bytesWithin } from '../../base/requests.ts';
import { quote } from '../../base/text.ts';
import { writeStore } from './credential.ts';
import { explain } from './failures.ts';
import type { GitSettings } from './settings.ts';

/**
 * Old commits of many honest repositories carry these flaws; none of them affects a reader. Every other error of `git
 * fsck` refuses the repository.
 */
const harmless = [
  'badDate',
  'badDateOverflow',
  'badEmail',
  'badName',
  'badTagName',
  'badTimezone',
  'missingEmail',
  'missingNameBeforeEmail',
  'missingSpaceBeforeDate',
  'missingSpaceBeforeEmail',
  'missingTaggerEntry',
  'multipleAuthors',
  'zeroPaddedDate',
  'zeroPaddedFilemode',
];

/** All settings of git come from here: no file of the machine or its user, and no variable of the worker. */
const settled: Readonly<Record<string, string>> = {
  'core.askPass': '',
  'core.attributesFile': '/dev/null',
  // Larger ones are streamed to disk: a small pack can hold a file that inflates to gigabytes.
  'core.bigFileThreshold': '32m',
  'core.excludesFile': '/dev/null',
  'core.fsmonitor': 'false',
  'core.hooksPath': '/dev/null',
  'core.protectHFS': 'true',
  'core.protectNTFS': 'true',
  'credential.helper': '',
  'fetch.fsckObjects': 'true',
  'fetch.recurseSubmodules': 'false',
  // One pack whatever its size, so that only a few files are sent.
  'fetch.unpackLimit': '1',
  'fetch.writeCommitGraph': 'false',
  'gc.auto': '0',
  'http.followRedirects': 'initial',
  'http.lowSpeedLimit': '1000',
  // A server that counts and compresses the objects of a large repository sends next to nothing meanwhile.
  'http.lowSpeedTime': '300',
  'init.templateDir': '',
  'maintenance.auto': 'false',
  'pack.threads': '2',
  'protocol.version': '2',
  'submodule.recurse': 'false',
  'transfer.bundleURI': 'false',
};

/** The whole environment of git; `credentials` is a file of `git credential-store`; see git(1), "ENVIRONMENT VARIABLES", and git-config(1). */
function environmentOf(
  { scratch, proxy, authorities, credential }: GitSettings,
  credentials: string | null,
): Readonly<Record<string, string>> {
  const config = new Map(Object.entries(settled));
  for (const name of harmless) config.set(`fetch.fsck.${name}`, 'ignore');
  config.set('http.proxy', proxy.url);
  if (authorities !== undefined) config.set('http.sslCAInfo', authorities);
  // A header would go along with a redirect to another host; the store is asked for each host.
  // The store knows hosts only, and the redirect may lead to another repository of the same one.
  if (credential?.isBound === true) config.set('http.followRedirects', 'false');
  if (credentials !== null) config.set('credential.helper', `store --file=${quote(credentials)}`);
  const entries = [...config].map(([key, value], at): [string, string][] => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: scratch,
    TMPDIR: scratch,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '/bin/false',
    GIT_SSH_COMMAND: '/bin/false',
    GIT_ALLOW_PROTOCOL: 'https',
    GIT_PROTOCOL_FROM_USER: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_CEILING_DIRECTORIES: scratch,
    // Not on the command line, which every user of the machine may read.
    GIT_CONFIG_COUNT: String(config.size),
    ...Object.fromEntries(entries.flat()),
  };
}

interface GitRun {
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Readable;
  readonly signal?: AbortSignal;
}

/** Git with one repository's address, environment and bounds. */
export type Git = Awaited<ReturnType<typeof prepare>>;

/** Most bytes that {@link Git.run} collects; lists of files are streamed. */
const maxOutput = 16 * 1024 * 1024;
const maxWords = 64 * 1024;

/**
 * An address with its host in lower case and ASCII and without the port of https: git looks for a credential by the host as
 * it is written.
 */
function normal(url: string): string {
  return URL.canParse(url) ? url.replace(/^[^:]+:\/\/[^/?#]*/, () => new URL(url).origin) : url;
}

/**
 * Prepares a bare repository in `folder`; `url` has its host as credentials are kept for it.
 *
 * @throws AttemptFailure when the address cannot be used at all
 */
export async function prepare(url: string, settings: GitSettings) {
  const folder = join(settings.scratch, 'repository');
  const { credential, scratch } = settings;
  const env = environmentOf(settings, credential === undefined ? null : await writeStore(url, scratch, credential));
  /** Runs git and streams its standard output. @throws AttemptFailure when it fails */
  const stream = (args: readonly string[], options: Omit<GitRun, 'args'> = {}): AsyncGenerator<Buffer> =>
    output({ cwd: settings.scratch, ...options, args, env: { ...env, ...options.env } }, url, settings);
  /** Runs git to its end and returns standard output. @throws AttemptFailure when it fails */
  const run = (args: readonly string[], options: Omit<GitRun, 'args'> = {}): Promise<Buffer> => {
    const tooLarge = `git ${args[0]} says over ${maxOutput} bytes`;
    return bytesWithin(maxOutput, stream(args, options), () => new AttemptFailure('InvalidInput', 'RepositoryTooLarge', tooLarge));
  };
  return { settings, url: normal(url), folder, run, stream };
}

/** Standard output of a run. However it is left, no process of it stays. */
async function* output(run: GitRun, url: string, settings: GitSettings): AsyncGenerator<Buffer> {
  settings.signal.throwIfAborted();
  settings.proxy.takeFault();
  const child = spawn(settings.program, run.args, {
    cwd: run.cwd,
    env: run.env,
    detached: true, // a new process group: git starts programs for the transport
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const watch = supervise(child, run, settings);
  try {
    for await (const chunk of child.stdout) yield chunk as Buffer;
    const code = await watch.ended;
    settings.signal.throwIfAborted();
    run.signal?.throwIfAborted();
    if (code === 0) return;
    const { unread, ...facts } = watch.facts();
    if (unread !== null) throw unread;
    throw explain({ step: run.args[0] ?? '', url, ...facts, fault: settings.proxy.takeFault(), secrets: secretsOf(settings) });
  } finally {
    watch.kill();
    await watch.ended;
  }
}

/**
 * Watches a run until `ended`, which never rejects: the exit code, null for a signal or a program that is not there. `unread`: why
 * the input could not be read to its end; null: it could.
 */
function supervise(child: ChildProcess, run: GitRun, { clock, signal, timeoutMs }: GitSettings) {
  let words = '';
  let missing = false;
  let unread: Error | null = null;
  let done = false;
  const { promise: ended, resolve } = Promise.withResolvers<number | null>();
  const kill = (): void => {
    if (!done && child.pid !== undefined) killGroup(child.pid);
  };
  const limit = deadline(clock, timeoutMs, run.signal === undefined ? signal : AbortSignal.any([signal, run.signal]));
  limit.signal.addEventListener('abort', kill, { once: true });
  const finish = (code: number | null): void => {
    done = true;
    limit.dispose();
    run.stdin?.destroy();
    resolve(code);
  };
  child.stderr?.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString('utf8')).slice(-maxWords);
  });
  child.once('error', () => {
    missing = child.pid === undefined;
    finish(null);
  });
  child.once('close', finish);
  feed(child, run.stdin, (error) => {
    unread = error;
    kill();
  });
  return { ended, kill, facts: () => ({ words, timedOut: limit.expired(), missing, unread }) };
}

/** Gives git its input. A pipe does not pass on an error of its source: git would wait for the rest. */
function feed(child: ChildProcess, stdin: GitRun['stdin'], onUnread: (error: Error) => void): void {
  child.stdin?.on('error', () => undefined); // git ended before it read all: its exit code has the reason
  stdin?.on('error', onUnread);
  if (stdin === undefined) child.stdin?.end();
  else if (child.stdin !== null) stdin.pipe(child.stdin);
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, constants.signals.SIGKILL);
  } catch {
    // ended in the meantime
  }
}

function secretsOf({ credential }: GitSettings): readonly string[] {
  if (credential === undefined) return [];
  return [credential.password, Buffer.from(`${credential.username}:${credential.password}`).toString('base64')];
}
