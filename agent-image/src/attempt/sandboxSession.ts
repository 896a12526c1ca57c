import type { PoolBrief } from '@agentfleet/protocol/pool';
import { HostList, ownEnvironment, type AddressRules, type EgressReach, type OpenEgress, type ServeOwn } from '../egress/index.ts';
import type { AttemptContext } from './ports.ts';
import {
  secretBounds,
  type SecretsRequest,
  type AuditRecord,
  type ExecRequest,
  type KeeperInfo,
  type Redaction,
  type RestoreReport,
  type SnapshotRecord,
  type SyntaxMode,
  type TreeDiff,
  type Note,
} from '@agentfleet/protocol/keeper';
import { posix } from 'node:path';
import { sleep, type Timer } from '@agentfleet/kube';
import type { Reason } from '@agentfleet/protocol/api';
import { KeeperRefusal, newExecId, type ExecResult } from '@agentfleet/keeper/client';
import type { ActIdentity } from './notes.ts';
import { AttemptFailure, retryWhileUnavailable, retryBounds } from '../base/failure.ts';
import type { Meter } from './meter.ts';

/** Reach of one command through the egress proxy. */
export interface Reach extends EgressReach {
  /** The settings that send package managers to the tunnel. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Folders in which package managers keep what they fetched: outside of what snapshots hold. The platform may set others. */
const caches: Readonly<Record<string, string>> = { npm_config_cache: '/tmp/.npm', PIP_CACHE_DIR: '/tmp/.pip', UV_CACHE_DIR: '/tmp/.uv' };

/** Returns rules for the addresses that the pool opens to imports and to hosts that tasks name. */
export function poolRules({ allowedHosts = [], egress }: Pick<PoolBrief, 'allowedHosts' | 'egress'>): AddressRules {
  return rulesOf(allowedHosts, egress);
}

function rulesOf(open: AddressRules['open'], { clusterRanges }: PoolBrief['egress']): AddressRules {
  return { open, ...(clusterRanges === undefined ? {} : { clusterRanges }) };
}

/** Returns what task and pool let a command reach; null: nothing. The platform's list of registries is its consent to their addresses. */
export function reachOf({ task, pool }: Pick<AttemptContext, 'task' | 'pool'>, mode: 'None' | Reach['mode']): Reach | null {
  if (mode === 'None') return null;
  if (mode === 'Registries') {
    const { registries, environment } = pool.egress;
    return { mode, hosts: registries, rules: rulesOf(registries, pool.egress), environment: { ...caches, ...environment } };
  }
  // The operator refuses a task that asks for more; the list may have become shorter since.
  const allowed = pool.allowedHosts === undefined ? undefined : new HostList(pool.allowedHosts);
  const hosts = (task.spec.policy.network.hosts ?? []).filter((host) => allowed?.has(host) !== false);
  return { mode, hosts, rules: poolRules(pool), environment: caches };
}

/** Names of variables that package managers take passwords and tokens from. */
const secretName = /(auth|token|password|passwd|passphrase|secret|api_?key|private_?key)/i;

/**
 * Lists the secrets that the environment gives a command and that no answer may show: values of variables that are named like
 * secrets, and passwords of addresses. Values of other lengths than a keeper can look for are left out.
 */
export function secretsOf({ environment }: Pick<Reach, 'environment'>): SecretsRequest['secrets'] {
  return Object.entries(environment)
    .flatMap(([name, value]) => [...(secretName.test(name) ? [{ name, value }] : []), ...passwordOf(name, value)])
    .filter(({ value }) => value.length >= secretBounds.minChars && value.length <= secretBounds.maxChars)
    .slice(0, secretBounds.count);
}

function passwordOf(name: string, value: string): SecretsRequest['secrets'] {
  if (!URL.canParse(value)) return [];
  const { password } = new URL(value);
  return password === '' ? [] : [{ name: `${name}.password`, value: decodeURIComponent(password) }];
}

interface Command {
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
  /** Its reach outside of the sandbox; default: nothing. */
  readonly reach?: Reach | null;
  /** Answers its connections to the local port of the way out, as a model does; default: nothing does. */
  readonly own?: ServeOwn;
  /** Of which candidate it is: what it destroys or reaches must be in the durable log before it runs. */
  readonly act?: ActIdentity;
  readonly stdin?: string;
  /** `Raw` where a program reads the output: a check must not be judged by what was taken out of it. */
  readonly redaction?: Redaction;
  /** ULID; the keeper replays a known one and never runs it again. Default: a new one. */
  readonly execId?: string;
  /** `Read`: it may write no file, `Scratch`: none but below /tmp; both run beside commands that write. */
  readonly access?: 'Read' | 'Scratch';
  /** True: its end brings the commands of its descendants, which are in the log then. */
  readonly trace?: true;
}

/** One command of the attempt: a program and its arguments, or a line for a shell. */
export type SessionCommand = Command & ({ readonly argv: readonly string[] } | { readonly command: string });

/** The way of a command that reaches the local port only. */
const nowhere: EgressReach = { mode: 'Allowed', hosts: [], rules: { open: [] } };

/** Most times that a question is asked whose end is not seen. */
const askTimes = 4;

/** Longest time for a cancelled command to end, ms: the keeper's grace, and the way there. */
const cancelMs = 10_000;

/**
 * Access of an attempt to its sandbox. Every call waits for a keeper that is away, stops when the attempt has to end, and is
 * counted. Paths are relative to the workspace.
 */
export class SandboxSession {
  readonly root: { readonly name: string; readonly path: string };
  readonly roots: readonly string[];
  readonly #context: AttemptContext;
  readonly #meter: Meter;
  readonly #openEgress: OpenEgress | null;
  readonly #info: Pick<KeeperInfo, 'roots'>;

  /** @param openEgress absent where no command runs that may reach anything */
  constructor(context: AttemptContext, meter: Meter, info: Pick<KeeperInfo, 'roots'>, openEgress: OpenEgress | null = null) {
    this.#info = info;
    this.#openEgress = openEgress;
    this.#context = context;
    this.#meter = meter;
    this.root = info.roots.find(({ name }) => name === 'workspace') ?? info.roots[0] ?? { name: 'workspace', path: '/workspace' };
    this.roots = info.roots.map(({ path }) => path);
  }

  /** The same sandbox in another context, whose signal may end sooner. */
  within(context: AttemptContext): SandboxSession {
    return new SandboxSession(context, this.#meter, this.#info, this.#openEgress);
  }

  absolute(path: string): string {
    return path.startsWith('/') ? path : posix.join(this.root.path, path);
  }

  /** Path of a difference below the workspace; null for one of another root. */
  relative(path: string): string | null {
    const prefix = `${this.root.name}/`;
    return path.startsWith(prefix) ? path.slice(prefix.length) : null;
  }

  /** Path of a difference as seen from the workspace: that of another root is `../<root>/…`, which leads out of it. */
  fromWorkspace(path: string): string {
    return this.relative(path) ?? `../${path}`;
  }

  /** Absolute path of one as `fromWorkspace` gives it. */
  located(path: string): string {
    const root = this.#info.roots.find(({ name }) => path.startsWith(`../${name}/`));
    return root === undefined ? this.absolute(path) : posix.join(root.path, path.slice(root.name.length + 4));
  }

  /**
   * Runs a command to its end. A lost connection is taken up again, never run twice; when the attempt has to end, the
   * command is cancelled first.
   */
  async exec(command: SessionCommand): Promise<ExecResult> {
    return this.connected(command, (request) => this.#exec(request));
  }

  /**
   * Runs a command that may be run again: a question, or one that leaves the same behind each time. One whose end was not seen
   * proves nothing about the image.
   *
   * @throws AttemptFailure Infrastructure where its end was not seen again and again
   */
  async ask(command: SessionCommand): Promise<ExecResult> {
    for (let time = 1; ; time++) {
      const result = await this.exec(command);
      const { interrupted } = result.end;
      if (interrupted === undefined) return result;
      if (time === askTimes)
        throw new AttemptFailure(
          'Infrastructure',
          'ToolsLost',
          `a command was cut off ${askTimes} times (${interrupted}); the task is tried again`,
        );
    }
  }

  /** Runs a command with what it may reach, as long as that lasts; for those who follow its events themselves. */
  async connected<T>(command: SessionCommand, run: (request: ExecRequest) => Promise<T>): Promise<T> {
    const { reach = null, own } = command;
    if (reach !== null || command.act !== undefined) await this.#declare(command);
    if (reach === null && own === undefined) return run(this.#request(command, {}));
    const openEgress = this.#openEgress;
    if (openEgress === null) throw new Error('a command may reach hosts, but nothing opens the way; report this fault');
    const { keeper, clock, log, signal, assignment } = this.#context;
    const note = (data: Readonly<Record<string, unknown>>): Promise<void> =>
      this.note('Egress', { attempt: assignment.attempt, mode: reach?.mode ?? 'None', ...data });
    const options = { keeper, reach: reach ?? nowhere, own, note, clock, log, signal };
    const egress = await retryWhileUnavailable(() => openEgress(options), this.#context);
    try {
      if (reach === null) return await run(this.#request(command, ownEnvironment));
      const secrets = secretsOf(reach);
      if (secrets.length > 0) await retryWhileUnavailable(() => keeper.declareSecrets(secrets), this.#context);
      return await run(this.#request(command, { ...reach.environment, ...egress.environment }));
    } finally {
      await egress.close();
    }
  }

  /** The intent of what may not be undone is durable before it is begun. */
  async #declare(command: SessionCommand): Promise<void> {
    const what = 'argv' in command ? command.argv.join(' ') : command.command;
    const { reach = null } = command;
    const intent = { reach: reach?.mode ?? 'None', command: what.slice(0, 2000), ...command.act };
    await this.note('Intent', { attempt: this.#context.assignment.attempt, ...intent });
    await this.#context.intentDurable();
  }

  #request(asked: SessionCommand, egress: Readonly<Record<string, string>>): ExecRequest {
    const { env, reach = null, own, act: _, execId = newExecId(), ...command } = asked;
    const { mode } = this.#context.task.spec.policy.network;
    // The way out begins at a port of the loopback.
    const network = mode === 'None' && reach === null && own === undefined ? ('None' as const) : ('Loopback' as const);
    const common = { execId, env: { ...egress, ...env }, cwd: this.root.path, network };
    if ('argv' in command) return { ...command, ...common, tool: 'ExecCode', argv: [...command.argv] };
    return { ...command, ...common, tool: 'Shell' };
  }

  async #exec(body: ExecRequest): Promise<ExecResult> {
    const { clock, keeper, signal } = this.#context;
    const giveUp = new AbortController();
    let timer: Timer | undefined;
    const onAbort = (): void => {
      const since = clock.monotonic();
      const cancel = (): void => {
        keeper.cancel(body.execId).catch(() => undefined); // lost, or before the command: it is asked again until the command ends
        timer = clock.after(retryBounds.betweenMs, () => (clock.monotonic() - since < cancelMs ? cancel() : giveUp.abort()));
      };
      cancel();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      this.#meter.add('toolCalls');
      const result = await retryWhileUnavailable(() => keeper.run(body, giveUp.signal), this.#context);
      this.#meter.add('cpuMillis', result.end.cpuMs);
      signal.throwIfAborted();
      return result;
    } finally {
      signal.removeEventListener('abort', onAbort);
      timer?.cancel();
    }
  }

  /** Starts a command that only reads, and runs beside others. Resolves when it runs, or has ended already. */
  async start(command: SessionCommand): Promise<void> {
    this.#meter.add('toolCalls');
    const body = this.#request({ ...command, access: 'Read' }, {});
    await this.call(async (keeper) => {
      for await (const event of keeper.exec(body, this.#context.signal)) if (event.type !== 'keepalive') return;
    });
  }

  /** Content of a file; null where there is no regular file. */
  async read(path: string): Promise<Buffer | null> {
    try {
      return await this.call((keeper) => keeper.readFile(this.absolute(path), 'Raw'));
    } catch (error) {
      if (error instanceof KeeperRefusal && missing.has(error.code)) return null;
      throw error;
    }
  }

  /**
   * Writes a file; one that exists keeps its mode. With `Check` the keeper refuses what adds syntax errors (AF_EDIT_SYNTAX).
   */
  async write(path: string, content: Uint8Array, syntax?: SyntaxMode): Promise<void> {
    this.#meter.add('toolCalls');
    await this.call((keeper) => keeper.writeFile(this.absolute(path), content, undefined, syntax));
  }

  /** Takes away files that are there; in an image without `rm` they are emptied. */
  async remove(paths: readonly string[]): Promise<void> {
    for (const some of listsOf(paths.map((path) => this.absolute(path)))) {
      // Not only what can be read is there: links that lead nowhere may lead somewhere later.
      const { end } = await this.exec({ argv: ['rm', '-rf', '--', ...some], timeoutSeconds: 60 });
      if (end.exitCode === 0) continue;
      for (const path of some) if ((await this.read(path)) !== null) await this.write(path, Buffer.alloc(0));
    }
  }

  snapshots(): Promise<readonly SnapshotRecord[]> {
    return this.call((keeper) => keeper.snapshots());
  }

  snapshot(label: string): Promise<SnapshotRecord> {
    return this.call((keeper) => keeper.takeSnapshot(label));
  }

  /** Restores a snapshot. @throws AttemptFailure when the tree does not have the snapshot's digest after it */
  async restore(id: string): Promise<RestoreReport> {
    const report = await this.call((keeper) => keeper.restore(id));
    if (report.verified && report.manifestDigest === report.expectedDigest) return report;
    const where = report.mismatches.slice(0, 3).join(', ');
    throw new AttemptFailure(
      'Infrastructure',
      'RestoreNotVerified',
      `snapshot ${id} was restored, but ${where} differ; the sandbox is replaced`,
    );
  }

  /** Restores a snapshot unless the tree is that already: nothing that a command left reaches the next, nor the model. */
  async backTo(id: string): Promise<void> {
    if ((await this.diff(id)).entries.length > 0) await this.restore(id);
  }

  diff(from: string, to?: string): Promise<TreeDiff> {
    return this.call((keeper) => keeper.diff(from, to, 'Raw'));
  }

  /** Puts a decision into the event log; it is on disk when this resolves. */
  async note(kind: string, data: Readonly<Record<string, unknown>>): Promise<void> {
    await this.call((keeper) => keeper.note(kind, data));
  }

  /** Puts decisions into the event log in their order, with one wait for the disk. */
  async noteAll(notes: readonly [Note, ...Note[]]): Promise<void> {
    const [{ kind, data }, ...next] = notes;
    if (next.length === 0) return this.note(kind, data);
    await this.call((keeper) => keeper.noteAll(notes));
  }

  async events(visit: (record: AuditRecord) => void): Promise<void> {
    let next = 1;
    await this.call(async (keeper) => {
      for await (const record of keeper.events(next)) {
        visit(record);
        next = record.seq + 1;
      }
    });
  }

  info(): Promise<KeeperInfo> {
    return this.call((keeper) => keeper.info());
  }

  /** Ends what an earlier worker left running, one after the other. */
  async quieten(): Promise<void> {
    const ended = ({ running }: KeeperInfo): boolean => {
      if (running !== null) this.#context.keeper.cancel(running).catch(() => undefined); // it ends by itself, or is asked again
      return running === null;
    };
    await this.until(ended, 30_000, 'CommandNotEnded', 'a command of an earlier worker did not end');
  }

  /** Waits for a state of the sandbox. @throws AttemptFailure Infrastructure after `ms` */
  async until(holds: (info: KeeperInfo) => boolean, ms: number, reason: Reason, what: string): Promise<KeeperInfo> {
    const { clock, signal } = this.#context;
    const started = clock.monotonic();
    for (;;) {
      const info = await this.info();
      if (holds(info)) return info;
      if (clock.monotonic() - started > ms) {
        throw new AttemptFailure(
          'Infrastructure',
          reason,
          `${what} within ${ms / 1000} s (${info.reason ?? 'ready'}); the task is tried again`,
        );
      }
      await sleep(clock, 100, signal);
    }
  }

  async freshTools(): Promise<void> {
    const before = (await this.info()).tools.instance;
    await this.call((keeper) => keeper.restartTools());
    const fresh = ({ tools, ready }: KeeperInfo): boolean =>
      ready && tools.connected && tools.instance !== null && tools.instance !== before;
    await this.until(fresh, 90_000, 'ToolsNotRestarted', 'no fresh tools container was ready');
  }

  /** A request to the keeper that changes nothing, or may be repeated; see `with retries`. */
  call<T>(call: (keeper: AttemptContext['keeper']) => Promise<T>): Promise<T> {
    return retryWhileUnavailable(() => call(this.#context.keeper), this.#context);
  }
}

const missing: ReadonlySet<string> = new Set(['AF_FILE_NOT_FOUND', 'AF_FILE_NOT_REGULAR', 'AF_PATH_OUTSIDE_ROOTS']);

/** Bounds of one command line: the keeper takes 4,096 words, and the kernel 2 MiB of them and of the environment. */
const perCommand = { paths: 2000, bytes: 512 * 1024 } as const;

function listsOf(paths: readonly string[]): readonly (readonly string[])[] {
  const lists: string[][] = [];
  let bytes = Infinity;
  for (const path of paths) {
    bytes += Buffer.byteLength(path) + 1;
    if (bytes > perCommand.bytes || (lists.at(-1)?.length ?? 0) >= perCommand.paths) {
      lists.push([]);
      bytes = Buffer.byteLength(path) + 1;
    }
    lists.at(-1)?.push(path);
  }
  return lists;
}
