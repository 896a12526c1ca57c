// protocol, keeper: requests, events and bounds of commands (`/v1/exec`). May import environment alone.
import { Type, type Static } from 'typebox';
import { Redaction, type RedactionCounts } from './redaction.ts';
import { closed } from '../object.ts';
import { ulid } from './schema.ts';

/** Default wall time limits in seconds, by tool. */
export const defaultTimeoutSeconds = { ExecCode: 15, Shell: 8 } as const;

/** Hard bounds of one command; the keeper refuses more. */
export const execBounds = {
  maxTimeoutSeconds: 3600,
  /** Grace between SIGTERM and SIGKILL, in milliseconds. */
  graceMs: 2000,
  /** Bytes of both output streams together that are kept; the rest is read, counted and dropped. */
  outputLimitBytes: 16 * 1024 * 1024,
  /** Most bytes of output over `outputLimitBytes` that one command may keep in files of the store (`spillBytes`). */
  maxSpillBytes: 256 * 1024 * 1024,
  keepaliveSeconds: 10,
  /** Commands with `access: "Read"` at one time. */
  readers: 8,
  /** Most bytes of one `POST /v1/exec/:execId/stdin`. */
  stdinBytes: 65_536,
  /** Longest `GET /v1/exec/:execId/wait`. */
  maxWaitSeconds: 60,
  defaultProcesses: 256,
  /** Commands of descendants that the end of a traced command has: their number, characters of each, bytes of JSON of all. */
  seenCommands: 256,
  seenChars: 1024,
  seenBytes: 65_536,
} as const;

/** Resource limits of one command. Absent members take the keeper's defaults. */
export const ExecLimits = closed({
  cpuSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
  dataBytes: Type.Optional(Type.Integer({ minimum: 268_435_456, description: 'RLIMIT_DATA' })),
  fileSizeBytes: Type.Optional(Type.Integer({ minimum: 0, description: 'RLIMIT_FSIZE' })),
  openFiles: Type.Optional(Type.Integer({ minimum: 16, maximum: 1_048_576 })),
  processes: Type.Optional(Type.Integer({ minimum: 1, maximum: 4096, description: 'processes of the whole tree' })),
});
export type ExecLimits = Static<typeof ExecLimits>;

/** Size of a terminal. */
export const TerminalSize = closed({
  rows: Type.Integer({ minimum: 1, maximum: 1000 }),
  columns: Type.Integer({ minimum: 1, maximum: 1000 }),
});
export type TerminalSize = Static<typeof TerminalSize>;

const common = {
  execId: ulid('a ULID chosen by the caller; repeating it replays, never re-runs'),
  cwd: Type.Optional(Type.String({ minLength: 1, maxLength: 4096, pattern: '^/', description: 'absolute; default: the first root' })),
  env: Type.Optional(
    Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), Type.String({ maxLength: 131_072 }), {
      additionalProperties: false,
      maxProperties: 256,
      description: 'added to the fixed base environment; nothing is inherited',
    }),
  ),
  stdin: Type.Optional(Type.String({ maxLength: 1_048_576, description: 'UTF-8 text; standard input is closed after it' })),
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: execBounds.maxTimeoutSeconds })),
  quietSeconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: execBounds.maxTimeoutSeconds,
      description: 'a `quiet` event after so long without output; the command runs on',
    }),
  ),
  spillBytes: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: execBounds.maxSpillBytes,
      description: 'output over outputLimitBytes that is kept in files, see `ExecEnd.spill`; default 0',
    }),
  ),
  network: Type.Optional(Type.Enum(['Loopback', 'None'])),
  redaction: Type.Optional(Redaction),
  limits: Type.Optional(ExecLimits),
  access: Type.Optional(
    Type.Enum(['Write', 'Read', 'Scratch'], {
      description:
        'Read: the kernel takes every right to write files away, also below /tmp; such commands run beside each other and beside one that writes. Scratch: as Read, and /tmp may be written; default Write',
    }),
  ),
  trace: Type.Optional(
    Type.Boolean({
      description:
        'true: the end has the commands of its descendants, as far as looks at them, every 20 ms where that is cheap, see them; default false',
    }),
  ),
  stdinMode: Type.Optional(
    Type.Enum(['Closed', 'Open'], {
      description: 'Open: `POST /v1/exec/:execId/stdin` writes to it; not together with stdin; default Closed',
    }),
  ),
  pty: Type.Optional(TerminalSize),
};

/** `ExecCode`: a program and its arguments, no shell in between. */
export const ExecCodeRequest = closed({
  ...common,
  tool: Type.Literal('ExecCode'),
  argv: Type.Array(Type.String({ maxLength: 131_072 }), { minItems: 1, maxItems: 4096 }),
});

/** `Shell`: one command line for `/bin/sh -c`. */
export const ShellRequest = closed({ ...common, tool: Type.Literal('Shell'), command: Type.String({ minLength: 1, maxLength: 131_072 }) });

/** Body of `POST /v1/exec`. */
export const ExecRequest = Type.Union([ExecCodeRequest, ShellRequest], { discriminator: { propertyName: 'tool' } });
export type ExecRequest = Static<typeof ExecRequest>;

/** The tail of one output stream in a file of the store; `GET /v1/exec/:execId/output` reads it. */
export interface SpillFile {
  readonly bytes: number;
  /** Hex, of the file. */
  readonly sha256: string;
}

/** Query of `GET /v1/exec/:execId/output`: a range of a spilled stream. Byte 0 is the first that is in no event. */
export const OutputQuery = closed({
  stream: Type.Enum(['stdout', 'stderr']),
  offset: Type.Optional(Type.String({ pattern: '^[0-9]{1,12}$', description: 'default 0' })),
  bytes: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,11}$', description: 'at most so many; default all' })),
});
export type OutputQuery = Static<typeof OutputQuery>;

/** Query of `POST /v1/exec/:execId/stdin`; the body is `application/octet-stream`. */
export const StdinQuery = closed({
  seq: Type.String({
    pattern: '^[1-9][0-9]{0,11}$',
    description: '1, 2, 3, …; a number that was taken is answered again and written once',
  }),
  eof: Type.Optional(
    Type.Enum(['true', 'false'], { description: 'true: the input ends after the body; a terminal gets its end-of-file character' }),
  ),
});
export type StdinQuery = Static<typeof StdinQuery>;

/** Answer of `POST /v1/exec/:execId/stdin`. */
export interface StdinTaken {
  readonly execId: string;
  readonly seq: number;
  /** This number was taken before; nothing was written now. */
  readonly repeated: boolean;
}

/** Query of `GET /v1/exec/:execId/wait`. */
export const WaitQuery = closed({
  seconds: Type.Optional(Type.String({ pattern: '^[0-9]{1,4}$', description: 'at most execBounds.maxWaitSeconds, which is the default' })),
});
export type WaitQuery = Static<typeof WaitQuery>;

/** Answer of `GET /v1/exec/:execId/wait`: the end, or null when the time was over first. The command runs on. */
export interface ExecWaited {
  readonly execId: string;
  readonly end: ExecEnd | null;
}

/** A command of a descendant. */
export interface SeenCommand {
  readonly pid: number;
  readonly parent: number;
  /** After the start of the command that was asked for. */
  readonly atMs: number;
  readonly argv: readonly string[];
}

/** Last event of a command; it comes when no process of the command is left. */
export interface ExecEnd {
  readonly type: 'end';
  readonly seq: number;
  /** Null when a signal ended it, or when its end was not seen (`interrupted`). */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /**
   * Reason that it was ended from outside: `Cancelled`, `QuotaExceeded`, `ProcessLimit`, `Shutdown`,
   * `Swept` (everything in the container had to be killed at once) or `SupervisorDied`.
   * Null for a time-out, which sets `timedOut`.
   */
  readonly killed: string | null;
  /** Null where the container's cgroup cannot be read. */
  readonly oom: boolean | null;
  readonly durationMs: number;
  readonly cpuMs: number;
  readonly maxRssBytes: number;
  readonly bytes: { readonly stdout: number; readonly stderr: number };
  /** Bytes that are in no event. */
  readonly dropped: { readonly stdout: number; readonly stderr: number };
  /** Those of the dropped bytes that files of the store hold, from the first on; the files of the last 8 such commands stay. */
  readonly spill?: { readonly stdout?: SpillFile; readonly stderr?: SpillFile };
  /** Secrets that were taken out of both outputs; sizes and hashes of spilled files are of what is left. */
  readonly redacted?: RedactionCounts;
  /** There when all events but this one were removed to make room for others; `dropped` counts all output then. */
  readonly cut?: true;
  /** Processes that outlived the command's root and were killed. */
  readonly swept: number;
  /** There for a command of a session only. */
  readonly session?: SessionAfter;
  /** Commands of descendants that were seen, with `trace`; at most `execBounds.seenCommands`, each cut after `execBounds.seenChars`. */
  readonly commands?: readonly SeenCommand[];
  /** Number of further ones that were seen. */
  readonly moreCommands?: number;
  /** The command could not start: errno name and words. */
  readonly error?: { readonly code: string; readonly message: string };
  /** The container or the keeper went away under the command: its effects are unknown. */
  readonly interrupted?: 'ToolsLost' | 'KeeperRestarted';
}

/** One line of the NDJSON stream of a command. `keepalive` has no sequence number. */
export type ExecEvent =
  | { readonly type: 'start'; readonly seq: number; readonly execId: string; readonly pid: number; readonly at: string }
  | { readonly type: 'out'; readonly seq: number; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  | { readonly type: 'out'; readonly seq: number; readonly stream: 'stdout' | 'stderr'; readonly b64: string }
  /** No output for `silentMs`; at most one in each silence. */
  | { readonly type: 'quiet'; readonly seq: number; readonly silentMs: number }
  | { readonly type: 'keepalive' }
  | ExecEnd;

/** State of a session after a command. */
export interface SessionAfter {
  readonly sessionId: string;
  /** Present folder of the shell. */
  readonly cwd: string;
  /**
   * The command ran in a new shell, as the one before had ended: it had its folder and exported
   * variables, but none of its functions, aliases and other variables.
   */
  readonly restarted: boolean;
  /** False: this shell is gone too, so the next command restarts it. */
  readonly alive: boolean;
}
