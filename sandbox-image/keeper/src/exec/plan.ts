import { createHash } from 'node:crypto';
import { defaultTimeoutSeconds, execBounds, type ExecRequest } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../failure.ts';
import { frameLimits, type ToRunner } from '../link/index.ts';
import { canonicalJson } from '../log/index.ts';

/** What commands get from the keeper's configuration. */
export interface ExecDefaults {
  readonly roots: readonly string[];
  readonly home: string;
  readonly toolsPath: string;
}

type ExecFrame = Extract<ToRunner, { t: 'exec' }>;

/** A request made complete: what is sent, recorded and compared. */
export interface ExecPlan {
  readonly frame: ExecFrame;
  readonly stdin: Buffer;
  /** Output over the limit of the events that files may hold. */
  readonly spillBytes: number;
  /** Silence that is told; null = none. */
  readonly quietMs: number | null;
  /** The caller gets exact bytes, which the intent tells. */
  readonly raw: boolean;
  /** Hex SHA-256 of the canonical request: the same id with another digest is another request. */
  readonly digest: string;
  /** Body of the `ExecRequested` record: names of variables, never their values; a digest of the input. */
  readonly intent: Readonly<Record<string, unknown>>;
}

/** Pure. @throws KeeperError `AF_TOO_LARGE` when the request does not fit into a frame of the link */
export function planExec(request: ExecRequest, defaults: ExecDefaults): ExecPlan {
  const stdin = Buffer.from(request.stdin ?? '', 'utf8');
  const spillBytes = request.spillBytes ?? 0;
  const quietMs = request.quietSeconds === undefined ? null : request.quietSeconds * 1000;
  const frame: ExecFrame = {
    t: 'exec',
    id: request.execId,
    argv: request.tool === 'Shell' ? ['/bin/sh', '-c', request.command] : request.argv,
    env: { ...baseEnv(defaults), ...request.env },
    cwd: request.cwd ?? defaults.roots[0] ?? '/',
    timeoutMs: (request.timeoutSeconds ?? defaultTimeoutSeconds[request.tool]) * 1000,
    graceMs: execBounds.graceMs,
    limits: { processes: execBounds.defaultProcesses, ...request.limits },
    writable: defaults.roots,
    network: request.network ?? 'Loopback',
    outputLimitBytes: execBounds.outputLimitBytes + spillBytes,
  };
  assertFits(frame, stdin);
  const digest = sha256(canonicalJson(request));
  const raw = request.redaction === 'Raw';
  return { frame, stdin, spillBytes, quietMs, raw, digest, intent: intentOf(request, frame, digest) };
}

/**
 * What a command finds without asking. Python judges its cached bytecode by size and whole seconds:
 * an edit in the second of the last run, which agents make all the time, would run the old code.
 */
function baseEnv(defaults: ExecDefaults): Record<string, string> {
  return {
    PATH: defaults.toolsPath,
    HOME: defaults.home,
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
    stdinSha256: request.stdin === undefined ? null : sha256(request.stdin),
    timeoutMs: frame.timeoutMs,
    network: frame.network,
    limits: frame.limits,
    redaction: request.redaction ?? 'Redact',
    requestDigest: digest,
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
