// protocol, keeper: error codes of the keeper's API, with status and cure. May import environment alone.
import { Type, type Static } from 'typebox';

/**
 * Every refusal of the keeper. The code is the contract; the message names what and where,
 * the cure names what the caller can do.
 */
export const keeperErrors = {
  AF_UNAUTHENTICATED: { status: 401, cure: 'send a ServiceAccount token whose audience is the uid of this pod' },
  AF_FORBIDDEN: { status: 403, cure: 'use the ServiceAccount that this sandbox was bound to' },
  AF_EPOCH_MISSING: { status: 400, cure: 'send the header AgentFleet-Epoch with the epoch of your assignment' },
  AF_EPOCH_STALE: { status: 409, cure: 'stop: a newer assignment of this task exists' },
  AF_INVALID: { status: 400, cure: 'correct the named field' },
  AF_NOT_FOUND: { status: 404, cure: 'check the path and the method' },
  AF_EXEC_UNKNOWN: { status: 404, cure: 'start it with POST /v1/exec' },
  AF_EXEC_ID_REUSED: { status: 409, cure: 'use a new execId for a new request' },
  AF_BUSY: { status: 409, cure: 'wait for the named command to end, or cancel it' },
  AF_STDIN_BUSY: { status: 409, cure: 'send the same number again a little later: the command has not read what it has' },
  AF_STDIN_CLOSED: { status: 409, cure: 'start the command with stdinMode Open or a pty, and write before its input ends' },
  AF_STDIN_SEQUENCE: { status: 409, cure: 'number the parts 1, 2, 3, … and repeat a part only with the same bytes' },
  AF_TERMINAL_UNAVAILABLE: { status: 503, cure: 'leave pty out, or use a container runtime that mounts devpts' },
  AF_READERS_UNAVAILABLE: { status: 503, cure: 'leave access out, or use nodes with Linux 6.2 or newer' },
  AF_SESSION_UNKNOWN: { status: 404, cure: 'start one with POST /v1/sessions' },
  AF_SESSION_LIMIT: { status: 409, cure: 'close a session first' },
  AF_SESSION_SHELL: { status: 422, cure: 'name a shell that the image of the task has' },
  AF_PATH_OUTSIDE_ROOTS: { status: 403, cure: 'use an absolute path inside one of the roots of /v1/info' },
  AF_FILE_NOT_FOUND: { status: 404, cure: 'list the folder to see what is there' },
  AF_FILE_NOT_REGULAR: { status: 409, cure: 'name a regular file' },
  AF_FILE_BINARY: { status: 409, cure: 'read its bytes with GET /v1/files' },
  AF_EDIT_STALE: { status: 409, cure: 'read the file again and make the edit for what it holds now' },
  AF_EDIT_MATCH: {
    status: 409,
    cure: 'give the old text exactly as it stands in the file, with enough lines around it to be the only one',
  },
  AF_EDIT_SYNTAX: { status: 422, cure: 'correct the new text; nothing was written' },
  AF_AST_PATTERN: { status: 400, cure: 'write the pattern as code of one node that stands by itself; nothing was written' },
  AF_AST_UNAVAILABLE: { status: 422, cure: 'change the file by a text replacement or a patch; nothing was written' },
  AF_LANGUAGE_UNKNOWN: { status: 400, cure: 'name the language in the request' },
  AF_PATCH_INVALID: { status: 400, cure: 'correct the diff at the named line; nothing was written' },
  AF_PATCH_REJECTED: { status: 409, cure: 'make the diff against what the files hold now; nothing was written' },
  AF_REQUEST_ID_REUSED: { status: 409, cure: 'use a new requestId for a new request' },
  AF_TOO_LARGE: { status: 413, cure: 'send less at a time' },
  AF_TOOLS_UNAVAILABLE: { status: 503, cure: 'wait until the tools container has reconnected' },
  AF_NETWORK_NOT_ENFORCED: { status: 503, cure: 'install a network plugin that enforces NetworkPolicy, or let the pool allow it' },
  AF_EGRESS_UNAVAILABLE: { status: 503, cure: 'end what listens on 127.0.0.1:3128 in the sandbox' },
  AF_SNAPSHOT_UNKNOWN: { status: 404, cure: 'list the snapshots' },
  AF_SNAPSHOT_OBJECT_CORRUPT: { status: 500, cure: 'restore an older snapshot or the durable copy' },
  AF_SNAPSHOT_UNREADABLE: { status: 500, cure: 'look at the volume: the tree could not be read' },
  AF_RESTORE_FAILED: { status: 500, cure: 'remove the cause and run the same restore again: it continues where it stopped' },
  AF_RESTORE_MISMATCH: { status: 500, cure: 'restore again; when it stays, use the durable copy' },
  AF_NOT_FRESH: { status: 409, cure: 'adopt into a new sandbox; this one has a history of its own' },
  AF_ADOPTION_INVALID: { status: 422, cure: 'take another checkpoint; nothing was adopted' },
  AF_STORE_FULL: { status: 507, cure: 'free space on the node or raise the sandbox storage size' },
  AF_QUOTA_EXCEEDED: { status: 507, cure: 'restore a snapshot or delete files, or raise workspaceSizeLimit' },
  AF_LOG_BROKEN: { status: 500, cure: 'keep the pod for inspection; the audit trail was altered or its disk fails' },
  AF_INTERNAL: { status: 500, cure: 'see the log of the keeper container' },
} as const satisfies Record<string, { status: number; cure: string }>;

export type KeeperErrorCode = keyof typeof keeperErrors;

/** Body of every answer that is not a success. */
export const ErrorBody = Type.Object({
  error: Type.Object({
    code: Type.String({ description: 'one of the AF_ codes' }),
    message: Type.String(),
    cure: Type.String(),
  }),
});
export type ErrorBody = Static<typeof ErrorBody>;
