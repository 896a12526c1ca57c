import { hash } from 'node:crypto';
import {
  defaultTimeoutSeconds,
  execBounds,
  type ExecRequest,
  type SessionRequest,
  type SessionRunRequest,
} from '@agentfleet/protocol/keeper';
import { KeeperError } from '../base/failure.ts';
import { frameLimits, type ExecFrame, type RunFrame, type SessionFrame } from '../link/index.ts';
import { canonicalJson } from '@agentfleet/protocol/text';

/** Defaults for commands from the keeper's configuration. */
export interface ExecDefaults {
  readonly roots: readonly string[];
  readonly home: string;
  readonly toolsPath: string;
}

/** A request with all defaults filled in: it is sent, recorded and compared. */
export interface ExecPlan {
  readonly frame: ExecFrame | RunFrame;
  readonly access: 'Write' | 'Read' | 'Scratch';
  readonly interactive: boolean;
  readonly stdin: Buffer;
  /** Output over the limit of the events that files may hold. */
  readonly spillBytes: number;
  readonly quietMs: number | null;
  /** The caller gets exact bytes; the intent records this. */
  readonly raw: boolean;
  /** Hex SHA-256 of the canonical request: the same id with another digest is another request. */
  readonly digest: string;
  /** Body of the `ExecRequested` record: names of variables, never their values; a digest of the input. */
  readonly intent: Readonly<Record<string, unknown>>;
}

/**
 * Pure. @throws KeeperError `AF_TOO_LARGE` when the request does not fit into a frame of the link, `AF_INVALID` for
 * members that exclude each other
 */
export function planExec(request: ExecRequest, defaults: ExecDefaults): ExecPlan {
  assertInput(request);
  const stdin = Buffer.from(request.stdin ?? '', 'utf8');
  const spillBytes = request.spillBytes ?? 0;
  const quietMs = request.quietSeconds === undefined ? null : request.quietSeconds * 1000;
  const frame: ExecFrame = {
    t: 'exec',
    id: request.execId,
    argv: request.tool === 'Shell' ? ['/bin/sh', '-c', request.command] : request.argv,
    env: { ...baseEnv(defaults), ...modeEnv(request), ...request.env },
    cwd: request.cwd ?? defaults.roots[0] ?? '/',
    timeoutMs: (request.timeoutSeconds ?? defaultTimeoutSeconds[request.tool]) * 1000,
    graceMs: execBounds.graceMs,
    limits: { processes: execBounds.defaultProcesses, ...request.limits },
    writable: defaults.roots,
    network: request.network ?? 'Loopback',
    outputLimitBytes: execBounds.outputLimitBytes + spillBytes,
    ...(request.stdinMode === 'Open' ? { stdinOpen: true } : {}),
    ...(request.pty === undefined ? {} : { pty: request.pty }),
    ...(request.access === 'Read' || request.access === 'Scratch' ? { readOnly: true } : {}),
    ...(request.access === 'Scratch' ? { scratch: true } : {}),
    ...(request.trace === true ? { trace: true } : {}),
  };
  assertFits(frame, stdin);
  const digest = hash('sha256', canonicalJson(request));
  const raw = request.redaction === 'Raw';
  const access = request.access ?? 'Write';
  const interactive = request.stdinMode === 'Open' || request.pty !== undefined;
  return { frame, access, interactive, stdin, spillBytes, quietMs, raw, digest, intent: intentOf(request, frame, digest) };
}

/** A command of a session. Pure. */
export function planRun(sessionId: string, request: SessionRunRequest): ExecPlan {
  const digest = hash('sha256', canonicalJson({ sessionId, ...request }));
  const { execId, command, spillBytes = 0, quietSeconds } = request;
  const frame: RunFrame = {
    t: 'run',
    id: execId,
    session: sessionId,
    timeoutMs: (request.timeoutSeconds ?? defaultTimeoutSeconds.Shell) * 1000,
    graceMs: execBounds.graceMs,
    outputLimitBytes: execBounds.outputLimitBytes + spillBytes,
  };
  return {
    frame,
    access: 'Write',
    interactive: false,
    stdin: Buffer.from(command, 'utf8'),
    spillBytes,
    quietMs: quietSeconds === undefined ? null : quietSeconds * 1000,
    raw: false,
    digest,
    intent: { execId, tool: 'Session', sessionId, command, timeoutMs: frame.timeoutMs, requestDigest: digest },
  };
}

const shells = ['bash', '/bin/sh'] as const;

/** The shell of a session. Pure. */
export function planSession(request: SessionRequest, defaults: ExecDefaults): SessionFrame {
  return {
    t: 'session',
    id: request.sessionId,
    argv: request.shell === undefined ? shells : [request.shell === 'sh' ? '/bin/sh' : request.shell],
    env: { ...baseEnv(defaults), ...request.env },
    cwd: request.cwd ?? defaults.roots[0] ?? '/',
    timeoutMs: 0,
    graceMs: 0,
    outputLimitBytes: 0,
    limits: { processes: execBounds.defaultProcesses, ...request.limits },
    writable: defaults.roots,
    network: request.network ?? 'Loopback',
  };
}

/** Digest of a request for a session: the same id with another one is another request. */
export function sessionDigest(request: SessionRequest): string {
  return hash('sha256', canonicalJson(request));
}

function assertInput({ stdin, stdinMode, pty }: ExecRequest): void {
  if (stdin === undefined || (stdinMode !== 'Open' && pty === undefined)) return;
  throw new KeeperError('AF_INVALID', 'stdin: it cannot be given together with stdinMode Open or a pty', {
    cure: 'send it with POST /v1/exec/:execId/stdin',
  });
}

/** A terminal that can do something; git must not ask for its index to be written. */
function modeEnv({ access, pty }: ExecRequest): Record<string, string> {
  return {
    ...(pty === undefined ? {} : { TERM: 'xterm' }),
    ...(access === 'Read' || access === 'Scratch' ? { GIT_OPTIONAL_LOCKS: '0' } : {}),
  };
}

/**
 * Environment of every command. Python compares its cached bytecode by size and whole seconds: an edit in the second of
 * the last run, which is common for agents, would run the old code. Java takes the home folder from the accounts of the
 * image, which need not have ours, and would keep `?/.m2` in the workspace.
 * LeakSanitizer needs ptrace, which is not allowed, and ends every program that is built with AddressSanitizer.
 */
function baseEnv(defaults: ExecDefaults): Record<string, string> {
  return {
    PATH: defaults.toolsPath,
    HOME: defaults.home,
    MAVEN_OPTS: `-Duser.home=${defaults.home}`,
    GRADLE_USER_HOME: `${defaults.home}/.gradle`,
    LSAN_OPTIONS: 'detect_leaks=0',
    USER: 'agent',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    TMPDIR: '/tmp',
    PAGER: 'cat',
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
    CI: '1',
    NO_COLOR: '1',
    PYTHONDONTWRITEBYTECODE: '1',
  };
}

function assertFits(frame: ExecFrame, stdin: Buffer): void {
  if (stdin.length > frameLimits.body) {
    throw new KeeperError('AF_TOO_LARGE', `stdin has ${stdin.length} bytes, ${frameLimits.body} are allowed`, {
      cure: 'write it to a file with PUT /v1/files and read that',
    });
  }
  const bytes = Buffer.byteLength(JSON.stringify(frame));
  if (bytes <= frameLimits.header) return;
  throw new KeeperError('AF_TOO_LARGE', `arguments and environment have ${bytes} bytes together, ${frameLimits.header} are allowed`);
}

function intentOf(request: ExecRequest, frame: ExecFrame, digest: string): ExecPlan['intent'] {
  const what = request.tool === 'Shell' ? { command: request.command } : { argv: request.argv };
  return {
    execId: request.execId,
    tool: request.tool,
    ...what,
    cwd: frame.cwd,
    envNames: Object.keys(request.env ?? {}).sort(),
    stdinSha256: request.stdin === undefined ? null : hash('sha256', request.stdin),
    timeoutMs: frame.timeoutMs,
    network: frame.network,
    limits: frame.limits,
    redaction: request.redaction ?? 'Redact',
    requestDigest: digest,
  };
}
