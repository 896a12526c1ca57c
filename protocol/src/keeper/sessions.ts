// protocol, keeper: requests, answers and bounds of shell sessions (`/v1/sessions`). May import environment alone.
import { Type, type Static } from 'typebox';
import { ExecLimits, execBounds } from './exec.ts';

export const sessionBounds = {
  /** Open sessions of one sandbox. */
  sessions: 4,
  /** A session in which nothing ran for so long is closed. */
  idleSeconds: 900,
} as const;

const id = (description: string) => Type.String({ pattern: '^[0-7][0-9A-HJKMNP-TV-Z]{25}$', description });

/** Body of `POST /v1/sessions`: a shell that lives over many commands. */
export const SessionRequest = Type.Object(
  {
    sessionId: id('a ULID chosen by the caller; repeating it answers for the open session'),
    shell: Type.Optional(Type.Enum(['bash', 'sh'], { description: 'default: bash where the image has it, else sh' })),
    cwd: Type.Optional(Type.String({ minLength: 1, maxLength: 4096, pattern: '^/', description: 'absolute; default: the first root' })),
    env: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), Type.String({ maxLength: 131_072 }), {
        additionalProperties: false,
        maxProperties: 256,
        description: 'added to the fixed base environment',
      }),
    ),
    network: Type.Optional(Type.Enum(['Loopback', 'None'])),
    limits: Type.Optional(ExecLimits),
  },
  { additionalProperties: false },
);
export type SessionRequest = Static<typeof SessionRequest>;

/** Body of `POST /v1/sessions/:sessionId/run`. */
export const SessionRunRequest = Type.Object(
  {
    execId: id('as in `POST /v1/exec`: repeating it replays, never re-runs'),
    command: Type.String({ minLength: 1, maxLength: 131_072, pattern: '^[^\\u0000]*$' }),
    timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: execBounds.maxTimeoutSeconds })),
    quietSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: execBounds.maxTimeoutSeconds })),
    spillBytes: Type.Optional(Type.Integer({ minimum: 0, maximum: execBounds.maxSpillBytes })),
  },
  { additionalProperties: false },
);
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
