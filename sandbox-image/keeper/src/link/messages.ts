import type { ExecLimits, SeenCommand, TerminalSize } from '@agentfleet/protocol/keeper';
import type { Frame } from './frame.ts';

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

type Read<T = unknown> = (value: unknown) => T;
type Shape = Readonly<Record<string, Read>>;
type Members<S extends Shape> = {
  readonly [Name in keyof S as undefined extends ReturnType<S[Name]> ? never : Name]: ReturnType<S[Name]>;
} & { readonly [Name in keyof S as undefined extends ReturnType<S[Name]> ? Name : never]?: Exclude<ReturnType<S[Name]>, undefined> };

/** Reads these members of an object, and no others; missing ones become neutral values. */
function object<S extends Shape>(shape: S): Read<Members<S>> {
  return (value) => {
    const from = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
    const members = Object.entries(shape).map(([name, read]) => [name, read(from[name])] as const);
    return Object.fromEntries(members.filter(([, member]) => member !== undefined)) as Members<S>;
  };
}

function optional<T>(read: Read<T>): Read<T | undefined> {
  return (value) => (typeof value === 'object' && value !== null ? read(value) : undefined);
}

function list<T>(read: Read<T>): Read<readonly T[]> {
  return (value) => (Array.isArray(value) ? value.map(read) : []);
}

const text: Read<string> = (value) => (typeof value === 'string' ? value : '');
const textOrNull: Read<string | null> = (value) => text(value) || null;
const flag: Read<boolean> = (value) => value === true;
const flagOrNull: Read<boolean | null> = (value) => (typeof value === 'boolean' ? value : null);
const count: Read<number> = (value) => countOrNull(value) ?? 0;
const countOrNull: Read<number | null> = (value) => (Number.isFinite(value) ? Number(value) : null);
const streams = object({ stdout: count, stderr: count });
const fault = optional(object({ code: text, message: text }));
const seen: Read<SeenCommand> = object({ pid: count, parent: count, atMs: count, argv: list(text) });

/** Frames of the runner, after the handshake. */
const frames = {
  start: object({ id: text, pid: count }),
  out: object({ id: text, stream: (value) => (value === 'stderr' ? 'stderr' : 'stdout') }),
  end: object({
    id: text,
    exitCode: countOrNull,
    signal: textOrNull,
    timedOut: flag,
    killed: textOrNull,
    oom: flagOrNull,
    durationMs: count,
    cpuMs: count,
    maxRssBytes: count,
    bytes: streams,
    dropped: streams,
    swept: count,
    error: fault,
    /** Commands of descendants, where the frame asked for them. */
    commands: optional(list(seen)),
    moreCommands: count,
    /** State of the shell, for commands of a session. */
    session: optional(object({ alive: flag, cwd: text })),
  }),
  stdin: object({ id: text, seq: count, code: text }),
  error: object({ id: textOrNull, code: text, message: text }),
  opened: object({ id: text, shell: text }),
  closed: object({ id: text, error: fault }),
  pong: object({}),
  info: object({
    version: text,
    capEff: text,
    noNewPrivs: flag,
    seccomp: count,
    dumpable: flag,
    userNamespace: flag,
    landlockABI: count,
    terminals: flag,
    /** The roots are mounts that `runner mount` handed over. */
    layered: flag,
    /** Kernel of the runner's own, when it is known to be no node's. */
    guest: textOrNull,
    probe: object({ seccompDenies: flag, landlockDenies: flag, storeAbsent: flag, powerless: flag, error: textOrNull }),
  }),
};

type Message<T extends keyof typeof frames> = { readonly t: T } & ReturnType<(typeof frames)[T]>;
type AnyMessage = { [T in keyof typeof frames]: Message<T> }[keyof typeof frames];

export type RunnerInfo = ReturnType<typeof frames.info>;
export type StreamBytes = ReturnType<typeof streams>;

/** The shell after a command. */
export interface ShellAfter {
  readonly alive: boolean;
  readonly cwd: string;
  /** Output of `export -p`: user text, only for a shell of the same session. */
  readonly exports: Buffer;
}

export type RunnerEnd = Omit<Message<'end'>, 'session'> & { readonly session?: ShellAfter };
/** About a session. */
export type SessionMessage = Message<'opened'> | Message<'closed'>;
/** About a command. */
export type CommandMessage =
  Message<'stdin'> | Message<'start'> | (Message<'out'> & { readonly body: Buffer }) | RunnerEnd | Message<'error'>;

/** A frame as a message; null for kinds that are not known. */
export function parseMessage({ header, body }: Frame): CommandMessage | SessionMessage | Message<'info'> | Message<'pong'> | null {
  if (!Object.hasOwn(frames, header.t)) return null;
  const t = header.t as keyof typeof frames;
  const message = { t, ...frames[t](header) } as AnyMessage;
  if (message.t === 'out') return { ...message, body };
  if (message.t !== 'end') return message;
  const { session, ...end } = message;
  // Copied: the body is a view into the parser's buffer.
  return session === undefined ? end : { ...end, session: { ...session, exports: Buffer.from(body) } };
}
