// protocol, keeper: requests, answers and bounds of shell sessions (`/v1/sessions`). May import environment alone.
import { Type, type Static } from 'typebox';
import { ShellRequest } from './exec.ts';
import { closed } from '../object.ts';
import { ulid } from './schema.ts';

export const sessionBounds = {
  /** Open sessions of one sandbox. */
  sessions: 4,
  /** A session in which nothing ran for so long is closed. */
  idleSeconds: 900,
} as const;

const { cwd, env, network, limits, timeoutSeconds, quietSeconds, spillBytes } = ShellRequest.properties;

/** Body of `POST /v1/sessions`: a shell that lives over many commands. */
export const SessionRequest = closed({
  sessionId: ulid('a ULID chosen by the caller; repeating it answers for the open session'),
  shell: Type.Optional(Type.Enum(['bash', 'sh'], { description: 'default: bash where the image has it, else sh' })),
  cwd,
  env,
  network,
  limits,
});
export type SessionRequest = Static<typeof SessionRequest>;

/** Body of `POST /v1/sessions/:sessionId/run`. */
export const SessionRunRequest = closed({
  execId: ulid('as in `POST /v1/exec`: repeating it replays, never re-runs'),
  command: Type.String({ minLength: 1, maxLength: 131_072, pattern: '^[^\\u0000]*$' }),
  timeoutSeconds,
  quietSeconds,
  spillBytes,
});
export type SessionRunRequest = Static<typeof SessionRunRequest>;

/** Answer of `POST` and an item of `GET /v1/sessions`. */
export interface SessionInfo {
  readonly sessionId: string;
  /** `bash` or `sh`. */
  readonly shell: string;
  readonly cwd: string;
  /** The command that runs in it. */
  readonly running: string | null;
  readonly alive: boolean;
}
