import type { ExecLimits, SeenCommand, TerminalSize } from '@agentfleet/protocol/keeper';
import type { Frame, FrameHeader } from './frame.ts';

/** Starts a command; the body is its standard input. */
export type ExecFrame = {
  readonly t: 'exec';
  readonly id: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly limits: ExecLimits;
  readonly writable: readonly string[];
  readonly network: 'Loopback' | 'None';
  readonly outputLimitBytes: number;
  readonly stdinOpen?: boolean;
  readonly pty?: TerminalSize;
  readonly readOnly?: boolean;
  /** Beside `readOnly`: /tmp and /dev/shm may be written. */
  readonly scratch?: boolean;
  /** Its end brings the commands of descendants that were seen. */
  readonly trace?: boolean;
};

/** Opens a session with the first shell of `argv` that is there; the body are exports of an earlier shell. */
export type SessionFrame = Omit<ExecFrame, 't' | 'stdinOpen' | 'pty' | 'readOnly' | 'scratch' | 'trace'> & { readonly t: 'session' };

/** Runs its body in a session. */
export type RunFrame = {
  readonly t: 'run';
  readonly id: string;
  readonly session: string;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly outputLimitBytes: number;
};

/** Frames of the keeper, after the handshake. */
export type ToRunner =
  | ExecFrame
  | SessionFrame
  | RunFrame
  | { readonly t: 'close'; readonly id: string }
  | { readonly t: 'stdin'; readonly id: string; readonly seq: number; readonly eof: boolean }
  | { readonly t: 'resize'; readonly id: string; readonly rows: number; readonly columns: number }
  | { readonly t: 'interrupt'; readonly id: string }
  | { readonly t: 'kill'; readonly id: string; readonly reason: string }
  | { readonly t: 'exit'; readonly code: number }
  | { readonly t: 'ping'; readonly id: number };

export interface RunnerInfo {
  readonly version: string;
  readonly capEff: string;
  readonly noNewPrivs: boolean;
  readonly seccomp: number;
  readonly dumpable: boolean;
  readonly userNamespace: boolean;
  readonly landlockABI: number;
  readonly terminals: boolean;
  /** The roots are mounts that `runner mount` handed over. */
  readonly layered: boolean;
  /** Kernel of the runner's own, when it is known to be no node's. */
  readonly guest: string | null;
  readonly probe: {
    readonly seccompDenies: boolean;
    readonly landlockDenies: boolean;
    readonly storeAbsent: boolean;
    readonly powerless: boolean;
    readonly error: string | null;
  };
}

export interface StreamBytes {
  readonly stdout: number;
  readonly stderr: number;
}

export interface RunnerEnd {
  readonly t: 'end';
  readonly id: string;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  readonly killed: string | null;
  readonly oom: boolean | null;
  readonly durationMs: number;
  readonly cpuMs: number;
  readonly maxRssBytes: number;
  readonly bytes: StreamBytes;
  readonly dropped: StreamBytes;
  readonly swept: number;
  readonly error?: { readonly code: string; readonly message: string };
  /** Commands of descendants, where the frame asked for them. */
  readonly commands?: readonly SeenCommand[];
  readonly moreCommands?: number;
  /** State of the shell, for commands of a session. */
  readonly session?: ShellAfter;
}

/** The shell after a command. */
export interface ShellAfter {
  readonly alive: boolean;
  readonly cwd: string;
  /** Output of `export -p`: user text, only for a shell of the same session. */
  readonly exports: Buffer;
}

/** Frames of the runner about a session. */
export type SessionMessage =
  | { readonly t: 'opened'; readonly id: string; readonly shell: string }
  | { readonly t: 'closed'; readonly id: string; readonly error: { readonly code: string; readonly message: string } | null };

/** Frames of the runner about a command. */
export type CommandMessage =
  | { readonly t: 'stdin'; readonly id: string; readonly seq: number; readonly code: string }
  | { readonly t: 'start'; readonly id: string; readonly pid: number }
  | { readonly t: 'out'; readonly id: string; readonly stream: 'stdout' | 'stderr'; readonly body: Buffer }
  | RunnerEnd
  | { readonly t: 'error'; readonly id: string | null; readonly code: string; readonly message: string };

/** Frames of the runner, after the handshake. */
type FromRunner =
  CommandMessage | SessionMessage | { readonly t: 'info'; readonly info: RunnerInfo } | { readonly t: 'pong'; readonly id: number };

/** A frame as a message; null for kinds of a later version, which are ignored. Missing members become neutral values. */
export function parseMessage(frame: Frame): FromRunner | null {
  const h = frame.header;
  switch (h.t) {
    case 'start':
      return { t: 'start', id: text(h['id']), pid: count(h['pid']) };
    case 'out':
      return { t: 'out', id: text(h['id']), stream: h['stream'] === 'stderr' ? 'stderr' : 'stdout', body: frame.body };
    case 'end':
      return parseEnd(h, frame.body);
    case 'stdin':
      return { t: 'stdin', id: text(h['id']), seq: count(h['seq']), code: text(h['code']) };
    case 'opened':
      return { t: 'opened', id: text(h['id']), shell: text(h['shell']) };
    case 'closed':
      return { t: 'closed', id: text(h['id']), error: parseFault(h['error']) };
    case 'error':
      return { t: 'error', id: textOrNull(h['id']), code: text(h['code']), message: text(h['message']) };
    case 'info':
      return { t: 'info', info: parseInfo(h) };
    case 'pong':
      return { t: 'pong', id: count(h['id']) };
    default:
      return null;
  }
}

function parseFault(value: unknown): { readonly code: string; readonly message: string } | null {
  const error = members(value);
  return error === null ? null : { code: text(error['code']), message: text(error['message']) };
}

function parseSeen(value: unknown): SeenCommand {
  const { pid, parent, atMs, argv } = members(value) ?? {};
  return { pid: count(pid), parent: count(parent), atMs: count(atMs), argv: Array.isArray(argv) ? argv.map(text) : [] };
}

function parseEnd(h: FrameHeader, body: Buffer): RunnerEnd {
  const error = parseFault(h['error']);
  const shell = members(h['session']);
  return {
    t: 'end',
    id: text(h['id']),
    exitCode: typeof h['exitCode'] === 'number' ? h['exitCode'] : null,
    signal: textOrNull(h['signal']),
    timedOut: flag(h['timedOut']),
    killed: textOrNull(h['killed']),
    oom: typeof h['oom'] === 'boolean' ? h['oom'] : null,
    durationMs: count(h['durationMs']),
    cpuMs: count(h['cpuMs']),
    maxRssBytes: count(h['maxRssBytes']),
    bytes: streams(h['bytes']),
    dropped: streams(h['dropped']),
    swept: count(h['swept']),
    ...(error === null ? {} : { error }),
    ...(Array.isArray(h['commands']) ? { commands: h['commands'].map(parseSeen), moreCommands: count(h['moreCommands']) } : {}),
    // Copied: the body is a view into the parser's buffer.
    ...(shell === null ? {} : { session: { alive: flag(shell['alive']), cwd: text(shell['cwd']), exports: Buffer.from(body) } }),
  };
}

function parseInfo(h: FrameHeader): RunnerInfo {
  const probe = members(h['probe']) ?? {};
  return {
    version: text(h['version']),
    capEff: text(h['capEff']),
    noNewPrivs: flag(h['noNewPrivs']),
    seccomp: count(h['seccomp']),
    dumpable: flag(h['dumpable']),
    userNamespace: flag(h['userNamespace']),
    landlockABI: count(h['landlockABI']),
    terminals: flag(h['terminals']),
    layered: flag(h['layered']),
    guest: text(h['guest']) || null,
    probe: {
      seccompDenies: flag(probe['seccompDenies']),
      landlockDenies: flag(probe['landlockDenies']),
      storeAbsent: flag(probe['storeAbsent']),
      powerless: flag(probe['powerless']),
      error: textOrNull(probe['error']),
    },
  };
}

function members(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
}

function streams(value: unknown): StreamBytes {
  const it = members(value) ?? {};
  return { stdout: count(it['stdout']), stderr: count(it['stderr']) };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function flag(value: unknown): boolean {
  return value === true || value === 1;
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
