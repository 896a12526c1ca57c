/** A sandbox of this machine: the real keeper and the real runner with its walls, as processes instead of a pod. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomInt, createHash } from 'node:crypto';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile, readdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { KeeperClient } from '@agentfleet/keeper/client';
import type { KeeperInfo } from '@agentfleet/protocol/keeper';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Agent } from 'undici';
import { EvalError } from '../run/failure.ts';
import type { Programs } from './programs.ts';

/**
 * Shell programs that `unshare` runs. They make a separate root for one sandbox, with keeper and runner in it. That
 * root has only system folders of this machine (read only) and those that `BINDS` names by a line each, so that no
 * pack, no hidden check and no home can be read from there; folders that `HIDDEN` names by a line each are empty in it.
 *
 * `AREA` is the folder of the sandbox on this machine; `ACCOUNT` the uid of keeper and runner, or empty: the caller's.
 */
const drop = String.raw`
root="$AREA/root"
drop() {
  [ -n "$ACCOUNT" ] || exec chroot "$root" "$@"
  exec chroot "$root" setpriv --reuid "$ACCOUNT" --regid "$ACCOUNT" --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$@"
}
`;

/**
 * Makes the root, starts the keeper, and the runner as often as it ends: a restart is a fresh container, as in a pod. It is PID 1 of its
 * namespace, so that all ends with the keeper.
 */
const superviseScript = String.raw`${drop}
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=64m none "$root"
cd "$root"
mkdir -p proc dev/shm dev/mqueue tmp opt/agentfleet workspace home/agent .agentfleet/link .agentfleet/bin var/lib/agentfleet etc/agentfleet
for name in usr bin sbin lib lib64 lib32; do
  if [ -L "/$name" ]; then cp -d "/$name" "$name"
  elif [ -d "/$name" ]; then mkdir "$name" && mount --bind -o ro "/$name" "$name"; fi
done
for name in passwd group nsswitch.conf localtime ld.so.cache alternatives ssl; do
  if [ -d "/etc/$name" ]; then mkdir "etc/$name" && mount --bind -o ro "/etc/$name" "etc/$name"
  elif [ -f "/etc/$name" ]; then cp "/etc/$name" "etc/$name"; fi
done
printf '%s\n' "$BINDS" | while IFS= read -r folder; do
  if [ -n "$folder" ]; then mkdir -p "./$folder" && mount --bind -o ro "$folder" "./$folder"; fi
done
printf '%s\n' "$HIDDEN" | while IFS= read -r folder; do
  if [ -n "$folder" ] && [ -d "./$folder" ]; then mount -t tmpfs -o ro,mode=755,size=4k none "./$folder"; fi
done
for name in null zero full random urandom tty; do : > "dev/$name" && mount --bind "/dev/$name" "dev/$name"; done
ln -s /proc/self/fd dev/fd; ln -s fd/0 dev/stdin; ln -s fd/1 dev/stdout; ln -s fd/2 dev/stderr
mount -t proc proc proc
for pair in workspace:workspace home:home/agent link:.agentfleet/link store:var/lib/agentfleet; do
  mount --bind "$AREA/${'$'}{pair%%:*}" "${'$'}{pair#*:}"
done
mount --bind -o ro "$BIN" .agentfleet/bin
mount --bind -o ro "$KEEPER" opt/agentfleet
mount --bind -o ro "$AREA/jwks" etc/agentfleet
mount -o remount,ro none "$root"
( drop "$NODE" --liftoff-only --disable-warning=ExperimentalWarning --max-semi-space-size=2 /opt/agentfleet/keeper.js ) &
keeper=$!
while :; do
  AGENTFLEET_LINK=/.agentfleet/link/keeper.sock unshare --mount --pid --net --ipc --fork --kill-child=SIGKILL sh -euc "$TOOLS" || sleep 0.05
done &
wait "$keeper"
`;

/** Isolation of the processes on the tree: the keeper's store and program are hidden, and temporary folders are private. */
const walls = String.raw`${drop}
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=1m none "$root/var/lib"
mount -t tmpfs -o mode=755,size=1m none "$root/opt/agentfleet"
mount -t tmpfs -o mode=1777,size=2g none "$root/tmp"
mount -t tmpfs -o mode=1777,size=64m none "$root/dev/shm"
mount -t proc proc "$root/proc"
`;

/** The runner: PID 1 of a separate namespace, without a network but the loopback that a pod has too. */
const toolsScript = String.raw`${walls}
ip link set lo up 2>&- || python3 -c "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh14x', b'lo', 65))"
drop /.agentfleet/bin/runner serve
`;

/** A program beside the runner, on the same tree, with the network of this machine: an agent that is no part of the fleet. */
const besideScript = String.raw`${walls}
drop env -u AREA -u ACCOUNT sh -c 'cd /workspace && exec "$@"' sh "$@"
`;

/** Uids of sandboxes: one each, because the kernel counts processes by uid, and another's fork bomb must not stop us. */
const accounts = { from: 20_000, to: 60_000 } as const;
const issuer = 'https://local.agentfleet.dev';
const subject = 'system:serviceaccount:local:worker';
const pod = { POD_NAME: 'local', POD_NAMESPACE: 'local', POD_UID: '00000000-0000-4000-8000-000000000001' };
const folders = ['root', 'workspace', 'home', 'link', 'store', 'jwks'] as const;
/** A busy machine has taken more than half a minute; a shorter limit would report a false fault. */
const readyMs = 120_000;
const pollMs = 20;
/** Half of the life of a token. */
const tokenMs = 300_000;
const shownCharacters = 600;

type Key = Awaited<ReturnType<typeof generateKeyPair>>;

/** Open until it is disposed of; then its processes and files are gone. */
export class ProcessSandbox implements AsyncDisposable {
  readonly keeper: KeeperClient;
  /** The keeper's report of its isolation. */
  readonly isolation: KeeperInfo['isolation'];
  readonly #area: Area;
  readonly #child: ChildProcess;
  readonly #dispatcher: Agent;

  private constructor(area: Area, child: ChildProcess, dispatcher: Agent, keeper: KeeperClient, info: KeeperInfo) {
    this.#area = area;
    this.#child = child;
    this.#dispatcher = dispatcher;
    this.keeper = keeper;
    this.isolation = info.isolation;
  }

  /** Starts keeper and runner and waits until they accept commands. @throws EvalError with the last output of the failed program */
  static async open(programs: Programs, signal: AbortSignal): Promise<ProcessSandbox> {
    const area = { path: await mkdtemp(join(tmpdir(), 'agentfleet-sandbox-')), account: accountOf() };
    const pair = await generateKeyPair('ES256', { extractable: true });
    const child = await start(area, programs, pair);
    const dispatcher = new Agent({ keepAliveTimeout: 10_000, headersTimeout: 120_000, bodyTimeout: 0 });
    try {
      const address = await addressOf(child, signal);
      const keeper = new KeeperClient({ baseUrl: address, token: keptToken(pair), epoch: 1, dispatcher });
      return new ProcessSandbox(area, child, dispatcher, keeper, await ready(keeper, signal));
    } catch (error) {
      await end(child, dispatcher, area);
      throw error;
    }
  }

  /**
   * Starts a program that works on the tree beside the keeper: the same root, user and folders as commands have, but this machine's
   * network, and no Landlock or seccomp. It ends with the sandbox; `programs.binds` has to hold its files.
   */
  async beside(argv: readonly string[], env: Readonly<Record<string, string>>): Promise<ChildProcess> {
    const supervised = Number((await readFile(`/proc/${this.#child.pid}/task/${this.#child.pid}/children`, 'utf8')).split(' ')[0]);
    const { path, account } = this.#area;
    const enter = ['--target', String(supervised), '--mount', '--pid', ...(account === '' ? ['--user', '--preserve-credentials'] : [])];
    const own = ['unshare', '--mount', '--pid', '--ipc', '--fork', '--kill-child=SIGKILL', 'sh', '-euc', besideScript, 'sh'];
    return spawn('nsenter', [...enter, '--', ...own, ...argv], {
      env: { ...env, AREA: path, ACCOUNT: account },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#child, this.#dispatcher, this.#area);
  }
}

/** The folder of a sandbox on this machine, and the uid in it; empty: as we are. */
interface Area {
  readonly path: string;
  readonly account: string;
}

const accountOf = (): string => (process.getuid?.() === 0 ? String(randomInt(accounts.from, accounts.to)) : '');

async function start({ path: area, account }: Area, programs: Programs, pair: Key): Promise<ChildProcess> {
  await chmod(area, 0o755);
  const drops = account !== '';
  for (const name of folders) {
    await mkdir(join(area, name));
    if (drops) await chown(join(area, name), Number(account), Number(account));
  }
  const key = { ...(await exportJWK(pair.publicKey)), kid: 'local', alg: 'ES256', use: 'sig' };
  await writeFile(join(area, 'jwks', 'jwks.json'), JSON.stringify({ keys: [key] }));
  const namespaces = ['--mount', '--pid', '--fork', '--kill-child=SIGKILL', ...(drops ? [] : ['--user', '--map-root-user'])];
  const env = { ...environment(programs), ...pod, AREA: area, ACCOUNT: account, TOOLS: toolsScript };
  return spawn('unshare', [...namespaces, 'sh', '-euc', superviseScript], { env, stdio: ['ignore', 'pipe', 'pipe'] });
}

function environment({ toolsPath, node, binds, hidden, keeper, bin }: Programs): Record<string, string> {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    NODE: node,
    KEEPER: keeper,
    BIN: bin,
    BINDS: binds.join('\n'),
    HIDDEN: hidden.join('\n'),
    AGENTFLEET_LISTEN: '127.0.0.1:0',
    AGENTFLEET_EGRESS: '127.0.0.1:0',
    AGENTFLEET_LINK: '/.agentfleet/link/keeper.sock',
    AGENTFLEET_LINK_KEY: randomBytes(32).toString('hex'),
    AGENTFLEET_STORE: '/var/lib/agentfleet',
    AGENTFLEET_ROOTS: 'workspace=/workspace,home=/home/agent',
    AGENTFLEET_JWKS: '/etc/agentfleet/jwks.json',
    AGENTFLEET_ISSUER: issuer,
    AGENTFLEET_CLIENT: subject,
    AGENTFLEET_RUNNER: '/.agentfleet/bin/runner',
    AGENTFLEET_TOOLS_PATH: toolsPath,
    // The keeper shares the network of this machine; commands have none at all, which is more than a policy.
    AGENTFLEET_ALLOW_UNENFORCED_NETWORK: 'true',
    AGENTFLEET_PROBE_TARGETS: 'nowhere=127.0.0.1:1',
    LOG_LEVEL: 'info',
  };
}

/** Returns one token for many requests, like a worker's. */
function keptToken(pair: Key): () => Promise<string> {
  let [token, until] = [tokenOf(pair), performance.now() + tokenMs];
  return () => {
    if (performance.now() > until) [token, until] = [tokenOf(pair), performance.now() + tokenMs];
    return token;
  };
}

function tokenOf({ privateKey }: Key): Promise<string> {
  const jwt = new SignJWT({}).setProtectedHeader({ alg: 'ES256', kid: 'local' }).setIssuer(issuer).setSubject(subject);
  return jwt.setAudience(pod.POD_UID).setIssuedAt().setExpirationTime('10m').sign(privateKey);
}

/** Returns the address that the keeper logs once it listens; without it, its output so far. */
async function addressOf({ stdout, stderr }: ChildProcess, signal: AbortSignal): Promise<string> {
  if (stdout === null || stderr === null) throw new TypeError('the child was started without pipes');
  const said: string[] = [];
  stderr.on('data', (chunk: Buffer) => said.push(chunk.toString('utf8')));
  const until = AbortSignal.any([signal, AbortSignal.timeout(readyMs)]);
  for await (const line of createInterface({ input: stdout, signal: until })) {
    const address = /"address":"([^"]+)"/.exec(line)?.[1];
    if (address === undefined) {
      said.push(line);
      continue;
    }
    stdout.resume();
    return address;
  }
  signal.throwIfAborted();
  const words = said.join('').trim();
  throw new EvalError(`a local sandbox did not start: ${words.slice(0, shownCharacters)}; look at the README of eval for what it needs`);
}

async function ready(keeper: KeeperClient, signal: AbortSignal): Promise<KeeperInfo> {
  const until = AbortSignal.any([signal, AbortSignal.timeout(readyMs)]);
  let reason = '';
  while (!until.aborted) {
    const info = await keeper.info();
    if (info.ready) return info;
    reason = info.reason ?? '';
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  signal.throwIfAborted();
  throw new EvalError(`a local sandbox is not ready after ${readyMs / 1000} s: ${reason}`);
}

async function end(child: ChildProcess, dispatcher: Agent, { path }: Area): Promise<void> {
  await dispatcher.destroy();
  if (child.exitCode === null && child.signalCode === null) {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }
  await rm(path, { recursive: true, force: true, maxRetries: 5 });
}

/** Sources that an attempt in a local pool depends on, below the checkout. */
export const poolSources: readonly string[] = [
  'protocol/src',
  'agent-image/src',
  'inference-image/src',
  'inference-image/weights',
  'sandbox-image/keeper/src',
  'sandbox-image/runner',
];

/** Returns the digest of all files of folders except tests, by path and content. */
export async function digestOfFolders(checkout: string, folders: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of folders) {
    const entries = await readdir(join(checkout, folder), { recursive: true, withFileTypes: true });
    const files = entries.filter(
      (entry) => entry.isFile() && !/[._]test\.(ts|go)$/.test(entry.name) && !entry.parentPath.includes('node_modules'),
    );
    const paths = files.map(({ parentPath, name }) => join(parentPath, name)).sort();
    for (const path of paths) {
      hash.update(`${relative(checkout, path)}\0`);
      hash.update(await readFile(path));
    }
  }
  return hash.digest('hex');
}
